#include "compact/graph/graph_predictor.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>

#include "base/csv.h"
#include "base/files.h"
#include "base/text.h"
#include "compact/graph/graph_parity.h"
#include "data/graph/cache.h"
#include "data/graph/node_list.h"
#include "data/graph/source.h"
#include "l0gm/error.h"
#include "training/graph/graph_task.h"
#include "training/graph/link_task.h"

namespace l0gm {

namespace fs = std::filesystem;

namespace {

// The graph of a configuration. Its edges must be read as the model's were: what is not named follows the model.
Graph configured_graph(const fs::path& path, const GraphInputs& inputs, int64_t& inference_rows) {
  Config config;
  OptionList options = OptionList::of(config);
  options.read_toml(path);
  if (!options.named("graph.undirected")) {
    config.graph.undirected = inputs.undirected;
  } else if (config.graph.undirected != inputs.undirected) {
    throw UserError(fmt::format("{}: graph.undirected is {}, and the model was trained with {}: remove it, or set it to that",
                                path.string(), config.graph.undirected, inputs.undirected));
  }
  if (config.graph.inference_rows > 0) inference_rows = config.graph.inference_rows;
  return load_graph_to_predict(config.data, config.graph);
}

Graph input_graph(const fs::path& path, const GraphInputs& inputs, int64_t& inference_rows) {
  const std::string name = lower(path.filename().string());
  if (name.ends_with(".toml")) return configured_graph(path, inputs, inference_rows);
  for (const char* ending : {".csv", ".tsv", ".csv.gz", ".tsv.gz", ".npz", ".npy"}) {
    if (!name.ends_with(ending)) continue;
    throw UserError(
        fmt::format("{}: a graph model reads a graph. Give a .toml whose [data] names it (edges, features), or the file of `l0gm "
                    "data export`; "
                    "--nodes FILE picks nodes of it",
                    path.string()));
  }
  Graph graph = read_graph(path);
  if (inputs.undirected && !graph.symmetric) {
    throw UserError(
        fmt::format("{}: some of its edges have one direction only, and the model was trained with graph.undirected = true: "
                    "export it in that way",
                    path.string()));
  }
  return graph;
}

void write_nodes(const fs::path& path, const Graph& graph, const Predictions& predictions) {
  AtomicFile file(path);
  std::string text = "node,prediction";
  std::vector<std::string> classes(predictions.classes.size());
  for (size_t c = 0; c < classes.size(); ++c) {
    append_csv_cell(classes[c], predictions.classes[c]);
    text += ',';
    append_csv_cell(text, "p_" + predictions.classes[c]);
  }
  file.write(text + '\n');
  for (int64_t i = 0; i < predictions.size(); ++i) {
    const auto p = predictions.row(i);
    text.clear();
    append_csv_cell(text, graph.node_name(predictions.rows[static_cast<size_t>(i)]));
    text += ',' + classes[static_cast<size_t>(std::max_element(p.begin(), p.end()) - p.begin())];
    for (const double value : p) text += ',' + shortest(static_cast<float>(value));
    file.write(text += '\n');
  }
  file.commit();
}

void write_pairs(const fs::path& path, const Graph& graph, const std::vector<Link>& pairs, const Predictions& predictions) {
  AtomicFile file(path);
  file.write("from,to,p_linked\n");
  std::string text;
  for (size_t i = 0; i < pairs.size(); ++i) {
    text.clear();
    append_csv_cell(text, graph.node_name(pairs[i].first));
    text += ',';
    append_csv_cell(text, graph.node_name(pairs[i].second));
    file.write(text += ',' + shortest(static_cast<float>(predictions.row(static_cast<int64_t>(i))[1])) + '\n');
  }
  file.commit();
}

}  // namespace

GraphPredictor::GraphPredictor(const fs::path& model, const Machine& machine) : machine_(machine) {
  if (fs::is_directory(model)) {
    LoadedGraph run = load_graph_run(model, machine);
    links_ = run.config.graph.task == GraphTaskKind::links;
    inputs_ = narrow_graph(run);
    classes_ = run.graph.classes;
    calibrator_ = run.calibrator;
    model_ = run.model;
    state_ = run.gate_state;
    dtype_ = dtype_of(run.config.train.precision);
    return;
  }
  GraphFile file = read_graph_model(model);
  inputs_ = std::move(file.header.inputs);
  classes_ = std::move(file.header.classes);
  calibrator_ = std::move(file.header.calibrator);
  model_ = std::move(file.model);
  place(*model_, machine.device, dtype_);
}

Predictions GraphPredictor::predict(const Graph& raw, std::span<const int64_t> nodes, int64_t inference_rows) const {
  Graph graph = inputs_.of(raw);
  graph.labels = {};  // its classes may be others
  graph.classes = classes_;
  return predict_nodes(*model_, state_, graph, nodes, inference_rows_for(graph, inference_rows), machine_.device, dtype_);
}

Predictions GraphPredictor::predict(const Graph& raw, const std::vector<Link>& pairs, int64_t inference_rows) const {
  const Graph graph = inputs_.of(raw);
  return predict_pairs(*model_, state_, graph, pairs, inference_rows_for(graph, inference_rows), machine_.device, dtype_);
}

bool predicts_nodes(const fs::path& model) {
  std::error_code ignored;
  if (!fs::is_directory(model, ignored)) return is_graph_model(model);
  try {
    return is_graph(read_config(RunFolder::open(model).config(), {}));
  } catch (const UserError&) {
    return false;  // whoever opens it says what is wrong with it
  }
}

nlohmann::json predict_graph(const GraphPredictor& predictor, const fs::path& input, const fs::path& output,
                             const PredictGraphOptions& options) {
  const bool links = predictor.predicts_links();
  if (!links && !options.pairs.empty()) {
    throw UserError("--pairs: this model tells the classes of nodes; name them with --nodes, or leave it out for all");
  }
  if (links && (options.pairs.empty() || !options.nodes.empty())) {
    throw UserError(
        "this model tells which nodes are linked: name pairs of them with --pairs FILE, a csv with the columns from,to, and "
        "leave --nodes out");
  }
  const auto start = std::chrono::steady_clock::now();
  int64_t inference_rows = predictor.inputs().inference_rows;
  const Graph graph = input_graph(input, predictor.inputs(), inference_rows);
  const auto calibrated = [&](Predictions predictions) {
    return options.calibrated ? predictor.calibrator().apply(std::move(predictions)) : predictions;
  };
  size_t rows = 0;
  if (links) {
    const std::vector<Link> pairs = read_pair_list(graph, options.pairs);
    write_pairs(output, graph, pairs, calibrated(predictor.predict(graph, pairs, inference_rows)));
    rows = pairs.size();
  } else {
    const std::vector<int64_t> nodes = options.nodes.empty() ? all_nodes(graph) : read_node_list(graph, options.nodes);
    write_nodes(output, graph, calibrated(predictor.predict(graph, nodes, inference_rows)));
    rows = nodes.size();
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return {{"rows", rows},
          {"output", output.string()},
          {"graph_nodes", graph.nodes},
          {"graph_edges", graph.edges()},
          {"seconds", seconds},
          {"rows_per_second", static_cast<double>(rows) / std::max(seconds, 1e-9)}};
}

}  // namespace l0gm
