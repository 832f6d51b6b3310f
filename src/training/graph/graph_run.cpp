#include "training/graph/graph_run.h"

#include <fmt/format.h>

#include <chrono>
#include <nlohmann/json.hpp>

#include "base/hash.h"
#include "base/log.h"
#include "base/text.h"
#include "data/graph/source.h"
#include "l0gm/error.h"
#include "training/graph/graph_task.h"
#include "training/graph/link_task.h"

namespace l0gm {

namespace {

GraphRecord record_of(const Graph& graph, const Config& config) {
  GraphRecord record;
  record.dataset = graph.name;
  record.nodes = graph.nodes;
  record.edges = graph.edges();
  record.scaling = fit_attributes(graph, config.graph, static_cast<uint64_t>(config.train.seed));
  for (int64_t i = 0; i < record.scaling.width(); ++i) {
    record.attribute_names.push_back(
        graph.attribute_name(record.scaling.kept.empty() ? i : record.scaling.kept[static_cast<size_t>(i)]));
  }
  const bool links = config.graph.task == GraphTaskKind::links;
  record.classes = links ? std::vector<std::string>{"unlinked", "linked"} : graph.classes;
  record.class_rows.assign(record.classes.size(), links ? 1 : 0);
  if (!links) {
    for (const int64_t node : graph.train) ++record.class_rows[static_cast<size_t>(graph.labels[node])];
  }
  record.files = graph.files;
  record.training_nodes = sha256(graph.train);
  record.planted = graph.planted;
  return record;
}

// Of each attribute, over training nodes.
std::vector<float> mean_magnitudes(const Graph& graph) {
  std::vector<double> sum(static_cast<size_t>(graph.attributes), 0);
  for (const int64_t node : graph.train) {
    if (graph.is_sparse()) {
      for (int64_t i = graph.sparse.offsets[node]; i < graph.sparse.offsets[node + 1]; ++i) {
        sum[static_cast<size_t>(graph.sparse.columns[i])] += std::abs(graph.sparse.values[i]);
      }
    } else {
      for (int64_t i = 0; i < graph.attributes; ++i)
        sum[static_cast<size_t>(i)] += std::abs(graph.dense[node * graph.attributes + i]);
    }
  }
  std::vector<float> mean;
  for (const double s : sum) mean.push_back(static_cast<float>(s / static_cast<double>(graph.train.size())));
  return mean;
}

void require_same_data(GraphRecord stored, GraphRecord given, const std::filesystem::path& out) {
  for (FileStamp& file : stored.files) file.path.clear();
  for (FileStamp& file : given.files) file.path.clear();
  if (stored.to_json() == given.to_json()) return;
  throw UserError(fmt::format("--resume: the data differs from what {} was started with", out.string()));
}

// What would have no effect, or would only be refused once the run has started.
void check_options(const Config& config, const Machine& machine) {
  if (!config.distill.from.empty()) throw UserError("distill.from: soft labels are for tables so far; remove it");
  const GraphOptions& graph = config.graph;
  if (graph.drop_edge > 0 && graph.sampler != SamplerKind::full) {
    throw UserError(fmt::format("graph.drop_edge = {} goes with graph.sampler = full; `{}` leaves edges out by itself",
                                graph.drop_edge, name_of_enum(graph.sampler)));
  }
  const bool maximum = config.model.name == ModelName::sage && graph.aggregate != Aggregate::mean;
  if (graph.messages == GraphPrecision::bfloat16) {
    if (!machine.device.is_cuda())
      throw UserError("graph.messages = bfloat16 works on a GPU only: use --device cuda, or graph.messages = float32");
    if (maximum || (config.model.name != ModelName::gcn && config.model.name != ModelName::sage)) {
      throw UserError("graph.messages = bfloat16 is for gcn and for sage with graph.aggregate = mean; remove it");
    }
  }
  if (maximum && graph.self_loops.value_or(false)) {
    throw UserError(
        fmt::format("graph.self_loops = true has no effect on graph.aggregate = {}: sage reads the node itself by weights of its "
                    "own. Remove it.",
                    name_of_enum(graph.aggregate)));
  }
  if (graph.task != GraphTaskKind::links) return;
  if (config.train.class_weights != ClassWeights::none)
    throw UserError("train.class_weights weighs classes of nodes; graph.task = links has none. Remove it.");
  if (graph.inference_rows > 0)
    throw UserError(
        "graph.inference_rows is for classes of nodes; graph.task = links encodes the whole graph at once. Remove it.");
}

}  // namespace

GraphModelOptions graph_model_options(const Config& config) {
  return {config.model, config.graph, config.link, config.train.class_weights == ClassWeights::balanced};
}

nlohmann::json GraphRecord::to_json() const {
  return {{"dataset", dataset},
          {"nodes", nodes},
          {"edges", edges},
          {"scaling", scaling.to_json()},
          {"attribute_names", attribute_names},
          {"classes", classes},
          {"class_rows", class_rows},
          {"files", l0gm::to_json(files)},
          {"training_nodes", training_nodes},
          {"planted", planted}};
}

GraphRecord GraphRecord::from_json(const nlohmann::json& json) {
  try {
    GraphRecord record;
    record.dataset = json.at("dataset").get<std::string>();
    record.nodes = json.at("nodes").get<int64_t>();
    record.edges = json.at("edges").get<int64_t>();
    record.scaling = AttributeScaling::from_json(json.at("scaling"));
    record.attribute_names = json.at("attribute_names").get<std::vector<std::string>>();
    record.classes = json.at("classes").get<std::vector<std::string>>();
    record.class_rows = json.at("class_rows").get<std::vector<int64_t>>();
    record.files = stamps_from_json(json.at("files"));
    record.training_nodes = json.at("training_nodes").get<std::string>();
    record.planted = json.at("planted").get<std::vector<std::string>>();
    if (static_cast<int64_t>(record.attribute_names.size()) != record.scaling.width() || record.classes.size() < 2 ||
        record.class_rows.size() != record.classes.size()) {
      throw UserError("schema.json is damaged: its counts of attributes or classes do not agree");
    }
    return record;
  } catch (const nlohmann::json::exception& error) {
    throw UserError(fmt::format("schema.json is damaged: {}", error.what()));
  }
}

bool train_graph(const Config& config, const std::filesystem::path& out, bool resume, const Machine& machine,
                 const std::vector<Observer*>& observers, const std::atomic<bool>& stop) {
  const auto start = std::chrono::steady_clock::now();
  check_options(config, machine);
  const Graph raw = load_graph(config.data, config.graph);
  if (raw.classes.size() < 2 && config.graph.task == GraphTaskKind::nodes) {
    throw UserError(fmt::format(
        "{} has {} among its labels, and at least two classes are needed to tell apart. Look at data.labels, or set graph.task = "
        "links to learn edges.",
        raw.name, raw.classes.empty() ? "no class" : "one class, '" + raw.classes[0] + "',"));
  }
  if (raw.valid.empty() && config.graph.task == GraphTaskKind::nodes) {
    throw UserError(fmt::format("{} has no validation nodes: the best checkpoint is picked on them", raw.name));
  }
  const GraphRecord record = record_of(raw, config);
  const auto same_data = [&](const nlohmann::json& stored) { require_same_data(GraphRecord::from_json(stored), record, out); };
  const Graph graph = scale_attributes(raw, record.scaling);
  const auto seed = static_cast<uint64_t>(config.train.seed);
  std::shared_ptr<Model> model = make_graph_model({record.attribute_names, mean_magnitudes(graph), record.class_rows},
                                                  graph_model_options(config), config.gate, seed);
  const torch::Dtype dtype = dtype_of(config.train.precision);
  place(*model, machine.device, dtype);
  const bool links = config.graph.task == GraphTaskKind::links;
  log_info(fmt::format("{}: {} nodes, {} edges, {} attributes,{} interface of {} channels, {} parameters", graph.name,
                       with_thousands(graph.nodes), with_thousands(graph.edges()), with_thousands(graph.attributes),
                       links ? "" : fmt::format(" {} training nodes,", with_thousands(static_cast<int64_t>(graph.train.size()))),
                       model->encoder().width(), with_thousands(model->parameter_count())));
  // What does not fit together is refused here, before there is a folder.
  std::unique_ptr<Task> task;
  if (links) {
    task = std::make_unique<LinkTask>(graph, config.graph, config.link, config.train.batch, seed,
                                      static_cast<uint64_t>(config.data.split.seed), model, machine.device, dtype);
  } else {
    task = std::make_unique<GraphTask>(graph, config.graph, config.train.batch, seed, model, machine.device, dtype);
    if (config.train.class_weights == ClassWeights::balanced)
      task->class_weights = balanced_weights(record.class_rows).to(machine.device, dtype);
  }
  RunFolder folder = open_run(config, out, resume, record.to_json(), same_data, machine);
  if (folder.finished()) {
    log_info(fmt::format("{} is finished already", out.string()));
    return true;
  }
  return fit(folder, config, model, *task, resume, observers, stop, start);
}

LoadedGraph load_graph_run(const std::filesystem::path& path, const Machine& machine) {
  LoadedGraph run{{RunFolder::open(path), {}, nullptr, {}, {}}, {}};
  run.folder.require_finished();
  run.config = read_config(run.folder.config(), {});
  if (!is_graph(run.config)) throw UserError(fmt::format("{} is a run on a table, and a graph's is wanted here", path.string()));
  if (run.config.graph.messages == GraphPrecision::bfloat16 && machine.device.is_cpu()) {
    log_warning(
        "graph.messages = bfloat16 is for a GPU: on the processor messages pass in float32, and probabilities differ a little "
        "from the run's");
    run.config.graph.messages = GraphPrecision::float32;
  }
  run.graph = GraphRecord::from_json(run.folder.read_json(run.folder.schema()));
  run.model = make_graph_model({run.graph.attribute_names, {}, run.graph.class_rows}, graph_model_options(run.config),
                               run.config.gate, 0);
  load_result(run, machine);
  return run;
}

Graph load_run_graph(const LoadedGraph& run) {
  Graph graph = load_graph(run.config.data, run.config.graph);
  require_unchanged(run.folder, run.graph.files, graph.files);
  if (graph.nodes != run.graph.nodes || graph.edges() != run.graph.edges || sha256(graph.train) != run.graph.training_nodes) {
    const bool sizes = graph.nodes != run.graph.nodes || graph.edges() != run.graph.edges;
    throw UserError(fmt::format("{} is not the graph that {} was trained on: {}", graph.name, run.folder.path().string(),
                                sizes ? fmt::format("{} nodes and {} edges, then {} and {}", graph.nodes, graph.edges(),
                                                    run.graph.nodes, run.graph.edges)
                                      : "other nodes are its training nodes"));
  }
  return graph;
}

}  // namespace l0gm
