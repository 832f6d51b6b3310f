#include "training/graph/graph_modality.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/hash.h"
#include "base/log.h"
#include "base/text.h"
#include "data/graph/cache.h"
#include "data/graph/perturb.h"
#include "data/graph/source.h"
#include "heads/link.h"
#include "l0gm/error.h"
#include "model/graph_model.h"
#include "training/graph/graph_run.h"
#include "training/graph/graph_task.h"
#include "training/graph/link_task.h"

namespace l0gm {

namespace {

bool predicts_links(const Config& config) { return config.graph.task == GraphTaskKind::links; }

// Of each attribute, over training nodes.
std::vector<float> mean_magnitudes(const Graph& graph) {
  std::vector<double> sum(static_cast<size_t>(graph.attributes), 0);
  for (const int64_t node : graph.train) {
    if (graph.is_sparse()) {
      for (int64_t i = graph.sparse.offsets[node]; i < graph.sparse.offsets[node + 1]; ++i) {
        sum[static_cast<size_t>(graph.sparse.columns[i])] += std::abs(graph.sparse.values[i]);
      }
    } else {
      for (int64_t i = 0; i < graph.attributes; ++i) {
        sum[static_cast<size_t>(i)] += std::abs(graph.dense[node * graph.attributes + i]);
      }
    }
  }
  std::vector<float> mean;
  for (const double s : sum) mean.push_back(static_cast<float>(s / static_cast<double>(graph.train.size())));
  return mean;
}

void check_links(const Config& config) {
  if (config.train.class_weights != ClassWeights::none || !config.train.weight_of_class.empty()) {
    throw UserError(
        "train.class_weights and train.weight_of_class weigh classes of nodes; graph.task = links has none. Remove it.");
  }
  if (config.graph.inference_rows > 0) {
    throw UserError(
        "graph.inference_rows is for classes of nodes; graph.task = links encodes the whole graph at once. Remove it.");
  }
}

// A graph as one mapped file, which bench/peers/graph_file.py reads too.
DataReport store(const Graph& graph, const std::filesystem::path& path) {
  write_graph(path, graph);
  return {{{"dataset", graph.name},
           {"nodes", graph.nodes},
           {"edges", graph.edges()},
           {"attributes", graph.attributes},
           {"classes", graph.classes.size()},
           {"train", graph.train.size()},
           {"valid", graph.valid.size()},
           {"test", graph.test.size()},
           {"planted", graph.planted},
           {"output", path.string()}},
          fmt::format("{}: {} nodes, {} edges, {} attributes, {} classes{}\n", path.string(), with_thousands(graph.nodes),
                      with_thousands(graph.edges()), graph.attributes, graph.classes.size(),
                      graph.planted.empty() ? "" : "; informative: " + join(graph.planted, ", "))};
}

}  // namespace

bool GraphModality::reads(const DataOptions& data) const { return is_catalogued(data.source, name()); }

std::vector<std::string> GraphModality::models() const { return graph_model_names(); }

std::vector<Default> GraphModality::defaults() const {
  return {{"model.name", "gcn"},   {"model.dropout", "0.5"},      {"model.interface_dropout", "0.5"},
          {"train.epochs", "300"}, {"train.lr", "0.001"},         {"train.weight_decay", "0.0001"},
          {"train.batch", "1024"}, {"train.evaluate_every", "5"}, {"train.checkpoint_every", "50"},
          {"train.ema", "0.98"}};
}

void GraphModality::resolve(OptionList& options, const Config& config) const {
  // A head over few open channels has to grow while the encoder must not overfit.
  if (!options.named("train.head_lr")) {
    options.set(fmt::format("train.head_lr={}", std::max(config.train.lr, std::min(10 * config.train.lr, 0.03))));
  }
  // One draw for all nodes: noise for every node and attribute costs more than the rest of the step.
  if (config.gate.attach == Attach::input && !options.named("gate.noise")) options.set("gate.noise=batch");
}

// How deep, and whether a node's own attributes bypass its neighbours', depends on what edges mean: where neighbours are alike
// two layers do, where they are not a residual and more layers do. Which of both a graph is, training says.
Trials GraphModality::trials(const Config& config, const Record&) const {
  if (!config.train.trials || predicts_links(config) || config.model.name == "mlp") return {};
  for (const char* key : {"model.depth", "model.dropout", "graph.residual"}) {
    if (!config.is_open(key)) return {};
  }
  std::vector<TrialRound> rounds = {{{"graph.residual=linear"},
                                     {"model.depth=3", "graph.residual=linear", "model.dropout=0.3"},
                                     {"model.depth=5", "graph.residual=linear", "model.dropout=0.2"}}};
  if (config.is_open("model.name")) rounds.push_back({{"model.name=sage"}, {"model.name=mlp"}});  // mlp: edges tell nothing
  return {rounds};
}

std::vector<std::string> GraphModality::resolved_defaults() const {
  return {
      "| `model.depth`, `model.dropout`, `graph.residual`, `model.name` | where none of the first three is named and "
      "`train.trials` is true: the "
      "best of four short trials; then `sage` and `mlp` against `gcn` where `model.name` is not named |",
      "| `train.head_lr` | ten times `train.lr` up to `0.03`, at least `train.lr` |",
      "| `gate.noise` | `batch` where `gate.attach = input` |"};
}

void GraphModality::check(const Config& config, const Machine& machine) const {
  if (!config.distill.from.empty()) throw UserError("distill.from: soft labels are for tables so far; remove it");
  const GraphOptions& graph = config.graph;
  if (graph.drop_edge > 0 && graph.sampler != SamplerKind::full) {
    throw UserError(fmt::format("graph.drop_edge = {} goes with graph.sampler = full; `{}` leaves edges out by itself",
                                graph.drop_edge, name_of_enum(graph.sampler)));
  }
  const bool maximum = config.model.name == "sage" && graph.aggregate != Aggregate::mean;
  if (graph.messages == GraphPrecision::bfloat16) {
    if (!machine.device.is_cuda()) {
      throw UserError("graph.messages = bfloat16 works on a GPU only: use --device cuda, or graph.messages = float32");
    }
    if (maximum || (config.model.name != "gcn" && config.model.name != "sage")) {
      throw UserError("graph.messages = bfloat16 is for gcn and for sage with graph.aggregate = mean; remove it");
    }
  }
  if (const Matmul products = config.train.matmul.value_or(Matmul::float32); products != Matmul::float32) {
    if (!machine.device.is_cuda()) {
      throw UserError(
          fmt::format("train.matmul = {} works for graphs on a GPU only: use --device cuda, or train.matmul = float32",
                      name_of_enum(products)));
    }
    if (config.train.precision == Precision::float64)
      throw UserError(fmt::format("train.matmul = {} does not go with train.precision = float64", name_of_enum(products)));
  }
  if (maximum && graph.self_loops.value_or(false)) {
    throw UserError(
        fmt::format("graph.self_loops = true has no effect on graph.aggregate = {}: sage reads the node itself by weights "
                    "of its own. Remove it.",
                    name_of_enum(graph.aggregate)));
  }
  if (predicts_links(config)) check_links(config);
}

std::shared_ptr<Dataset> GraphModality::load(const Config& config) const {
  auto dataset = std::make_shared<GraphData>(load_graph(config.data, config.graph));
  const Graph& raw = dataset->raw;
  if (predicts_links(config)) return dataset;
  if (raw.classes.size() < 2) {
    throw UserError(
        fmt::format("{} has {} among its labels, and at least two classes are needed to tell apart. Look at data.labels, or "
                    "set graph.task = links to learn edges.",
                    raw.name, raw.classes.empty() ? "no class" : "one class, '" + raw.classes[0] + "',"));
  }
  if (raw.valid.empty())
    throw UserError(fmt::format("{} has no validation nodes: the best checkpoint is picked on them", raw.name));
  return dataset;
}

std::unique_ptr<Record> GraphModality::fit(Dataset& dataset, const Config& config) const {
  auto& data = dynamic_cast<GraphData&>(dataset);
  const Graph& graph = data.raw;
  auto record = std::make_unique<GraphRecord>();
  record->dataset = graph.name;
  record->nodes = graph.nodes;
  record->edges = graph.edges();
  record->scaling = fit_attributes(graph, config.graph, static_cast<uint64_t>(config.train.seed));
  for (int64_t i = 0; i < record->scaling.width(); ++i) {
    record->attribute_names.push_back(
        graph.attribute_name(record->scaling.kept.empty() ? i : record->scaling.kept[static_cast<size_t>(i)]));
  }
  const bool links = predicts_links(config);
  record->classes = links ? std::vector<std::string>{"unlinked", "linked"} : graph.classes;
  record->class_rows.assign(record->classes.size(), links ? 1 : 0);
  if (!links) {
    for (const int64_t node : graph.train) ++record->class_rows[static_cast<size_t>(graph.labels[node])];
  }
  record->files = graph.files;
  record->training_rows = sha256(graph.train);
  record->planted = graph.planted;
  data.scaled = scale_attributes(graph, record->scaling);
  record->attribute_sizes = mean_magnitudes(data.scaled);
  return record;
}

std::unique_ptr<Record> GraphModality::read_record(const nlohmann::json& json) const {
  return std::make_unique<GraphRecord>(GraphRecord::from_json(json));
}

std::shared_ptr<Model> GraphModality::make_model(const Record& record, const Config& config, uint64_t seed) const {
  const auto& graph = dynamic_cast<const GraphRecord&>(record);
  return make_graph_model({graph.attribute_names, graph.attribute_sizes, graph.class_rows},
                          {config.model, config.graph, config.link, config.train.class_weights == ClassWeights::balanced,
                           config.train.matmul.value_or(Matmul::float32)},
                          config.gate, seed);
}

std::unique_ptr<Task> GraphModality::make_task(const std::shared_ptr<Dataset>& dataset, const Record&,
                                               std::shared_ptr<Model> model, const Config& config, const Machine& machine) const {
  const Graph& graph = dynamic_cast<const GraphData&>(*dataset).scaled;
  const auto seed = static_cast<uint64_t>(config.train.seed);
  const torch::Dtype dtype = dtype_of(config.train.precision);
  if (predicts_links(config)) {
    auto task =
        std::make_unique<LinkTask>(graph, config.graph, config.link, config.train.batch, seed,
                                   static_cast<uint64_t>(config.data.split.seed), std::move(model), machine.device, dtype);
    if (task->links_of_step() != config.train.batch) {
      log_info(fmt::format("train.batch = {} would ask about all {} training links at once: a step takes {}", config.train.batch,
                           task->split().train.size(), task->links_of_step()));
    }
    return task;
  }
  return std::make_unique<GraphTask>(graph, config.graph, config.train.batch, seed, std::move(model), machine.device, dtype);
}

std::string GraphModality::describe(const Dataset& dataset, const Record&, const Model& model) const {
  const Graph& graph = dynamic_cast<const GraphData&>(dataset).scaled;
  const bool links = dynamic_cast<const LinkHead*>(&model.head()) != nullptr;
  const std::string training =
      links ? "" : fmt::format(" {} training nodes,", with_thousands(static_cast<int64_t>(graph.train.size())));
  return fmt::format("{}: {} nodes, {} edges, {} attributes,{} interface of {} channels, {} parameters", graph.name,
                     with_thousands(graph.nodes), with_thousands(graph.edges()), with_thousands(graph.attributes), training,
                     model.encoder().width(), with_thousands(model.parameter_count()));
}

DataReport GraphModality::export_data(const Config& config, const std::filesystem::path& folder, bool perturb) const {
  if (perturb && predicts_links(config))
    throw UserError("--perturb is for classes of nodes; links are judged on perturbed copies by `l0gm eval --perturb` alone");
  std::filesystem::create_directories(folder);
  const Graph graph = load_graph(config.data, config.graph);
  DataReport report = store(graph, folder / "graph.safetensors");
  if (!perturb) return report;
  report.json["perturbed"] = export_perturbed_graphs(graph, static_cast<uint64_t>(config.train.seed), folder);
  report.text += fmt::format("{}: the attributes of nodes outside training under {} conditions\n",
                             (folder / "perturbed").string(), perturbations().size());
  return report;
}

DataReport GraphModality::make_data(const Config& config, const std::filesystem::path& file) const {
  return store(load_graph(config.data, config.graph), file);
}

std::unique_ptr<Run> GraphModality::open(const std::filesystem::path& path, const Machine& machine) const {
  return std::make_unique<GraphRun>(path, machine);
}

}  // namespace l0gm
