#include "compact/graph/graph_predictor.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "compact/graph/trained_graph.h"
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
  OptionList options = options_of(config);
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

}  // namespace

LoadedGraphModel::LoadedGraphModel(const fs::path& model, const Machine& machine) : machine_(machine) {
  if (fs::is_directory(model)) {
    GraphRun run(model, machine);
    links_ = run.predicts_links();
    classes_ = run.graph.classes;
    calibrator_ = run.calibrator;
    model_ = run.narrowed().model;
    inputs_ = run.narrowed().inputs;
    state_ = run.gate_state;
    dtype_ = dtype_of(run.config.train.precision);
    return;
  }
  GraphFile file = read_graph_model(model);
  inputs_ = std::move(file.header.inputs);
  classes_ = std::move(file.header.classes);
  calibrator_ = std::move(file.header.calibrator);
  model_ = std::move(file.model);
  links_ = file.header.net.scorer.has_value();
  place(*model_, machine.device, dtype_);
}

Predictions LoadedGraphModel::predict(const Graph& raw, std::span<const int64_t> nodes, int64_t inference_rows) const {
  Graph graph = inputs_.of(raw);
  graph.labels = {};  // its classes may be others
  graph.classes = classes_;
  return predict_nodes(*model_, state_, graph, nodes, inference_rows_for(graph, inference_rows), machine_.device, dtype_);
}

Predictions LoadedGraphModel::predict(const Graph& raw, const std::vector<Link>& pairs, int64_t inference_rows) const {
  const Graph graph = inputs_.of(raw);
  return predict_pairs(*model_, state_, graph, pairs, inference_rows_for(graph, inference_rows), machine_.device, dtype_);
}

GraphPredictor::GraphPredictor(const fs::path& model, const PredictorOptions& options)
    : model_(model, options.machine),
      calibrated_(model_.calibrator().is_used(options.calibrated)),
      inference_rows_(model_.inputs().inference_rows) {
  if (options.context.empty()) {
    throw UserError(
        fmt::format("{} reads a graph: give a .toml whose [data] names it, or the file of `l0gm data export`", model.string()));
  }
  graph_ = input_graph(options.context, model_.inputs(), inference_rows_);
  names_ = names_of_nodes(graph_);
  columns_ = model_.predicts_links() ? std::vector<std::string>{"from", "to"} : std::vector<std::string>{"node"};
}

std::vector<std::string> GraphPredictor::known_rows() const {
  std::vector<std::string> rows;
  if (model_.predicts_links()) return rows;
  for (int64_t node = 0; node < graph_.nodes; ++node) rows.push_back(graph_.node_name(node));
  return rows;
}

// The node that a cell names.
int64_t GraphPredictor::find(const Cells& cells, size_t cell) const {
  const auto row = static_cast<int64_t>(cell / columns_.size());
  const std::string_view name = cells.cells[cell];
  if (trim(name).empty()) throw RowError(row, "a cell is empty where the name of a node is wanted; remove the line");
  try {
    return names_.find(name);
  } catch (const UserError& error) {
    throw RowError(row, error.what());
  }
}

void GraphPredictor::predict(Cells cells, std::span<float> probabilities, InputCounts&) const {
  Predictions found;
  if (model_.predicts_links()) {
    std::vector<Link> pairs;
    for (size_t i = 0; i + 1 < cells.cells.size(); i += 2) {
      pairs.push_back({static_cast<int32_t>(find(cells, i)), static_cast<int32_t>(find(cells, i + 1))});
    }
    found = model_.predict(graph_, pairs, inference_rows_);
  } else {
    std::vector<int64_t> nodes;
    for (size_t i = 0; i < cells.cells.size(); ++i) nodes.push_back(find(cells, i));
    found = model_.predict(graph_, nodes, inference_rows_);
  }
  if (calibrated_) found = model_.calibrator().apply(std::move(found));
  std::transform(found.probabilities.begin(), found.probabilities.end(), probabilities.begin(),
                 [](double p) { return static_cast<float>(p); });
}

}  // namespace l0gm
