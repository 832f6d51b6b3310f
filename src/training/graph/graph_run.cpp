#include "training/graph/graph_run.h"

#include <ATen/Functions.h>
#include <c10/core/InferenceMode.h>
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/hash.h"
#include "base/log.h"
#include "base/progress.h"
#include "data/graph/node_list.h"
#include "data/graph/perturb.h"
#include "data/graph/source.h"
#include "l0gm/error.h"
#include "metrics/scores.h"
#include "model/tensor_file.h"
#include "training/gate_report.h"
#include "training/graph/graph_modality.h"
#include "training/graph/graph_task.h"

namespace l0gm {

namespace {

const std::vector<int64_t>& nodes_of(const Graph& graph, Split split) {
  const std::vector<int64_t>& nodes = split == Split::train ? graph.train : split == Split::valid ? graph.valid : graph.test;
  if (nodes.empty()) throw UserError(fmt::format("{} has no {} nodes", graph.name, name_of_enum(split)));
  return nodes;
}

constexpr int64_t most_worth_work = 20'000'000;  // messages that pass to find what attributes are worth

// The graph with one attribute 0 everywhere.
Graph without_attribute(Graph graph, int64_t attribute) {
  if (graph.is_sparse()) {
    std::vector<float> values(graph.sparse.values.begin(), graph.sparse.values.end());
    for (int64_t i = 0; i < graph.sparse.columns.size(); ++i) {
      if (graph.sparse.columns[i] == attribute) values[static_cast<size_t>(i)] = 0;
    }
    graph.sparse.values = std::move(values);
    return graph;
  }
  std::vector<float> values(graph.dense.begin(), graph.dense.end());
  for (int64_t node = 0; node < graph.nodes; ++node) values[static_cast<size_t>(node * graph.attributes + attribute)] = 0;
  graph.dense = std::move(values);
  return graph;
}

}  // namespace

GraphRun::GraphRun(const std::filesystem::path& path, const Machine& its_machine) : Run(GraphModality(), path, its_machine) {
  if (config.graph.messages == GraphPrecision::bfloat16 && machine.device.is_cpu()) {
    log_warning(
        "graph.messages = bfloat16 is for a GPU: on the processor messages pass in float32, and probabilities differ a "
        "little from the run's");
    config.graph.messages = GraphPrecision::float32;
  }
  if (config.train.matmul.value_or(Matmul::float32) != Matmul::float32 && machine.device.is_cpu()) {
    log_warning(
        fmt::format("train.matmul = {} is for a GPU: on the processor products are computed in float32, and probabilities differ "
                    "a little from the run's",
                    name_of_enum(*config.train.matmul)));
    config.train.matmul = Matmul::float32;
  }
  graph = GraphRecord::from_json(folder.read_json(folder.schema()));
  model = GraphModality().make_model(graph, config, 0);
  load_weights();
}

const Graph& GraphRun::raw() {
  if (dataset_ != nullptr) return dynamic_cast<const GraphData&>(*dataset_).raw;
  auto data = std::make_shared<GraphData>(load_graph(config.data, config.graph));
  const Graph& found = data->raw;
  require_unchanged(folder, graph.files, found.files);
  const bool sizes = found.nodes != graph.nodes || found.edges() != graph.edges;
  if (sizes || sha256(found.train) != graph.training_rows) {
    throw UserError(fmt::format("{} is not the graph that {} was trained on: {}", found.name, folder.path().string(),
                                sizes ? fmt::format("{} nodes and {} edges, then {} and {}", found.nodes, found.edges(),
                                                    graph.nodes, graph.edges)
                                      : "other nodes are its training nodes"));
  }
  dataset_ = std::move(data);
  return found;
}

NarrowedGraph& GraphRun::narrowed() {
  if (narrowed_ != nullptr) return *narrowed_;
  auto made = std::make_unique<NarrowedGraph>();
  made->model = GraphModality().make_model(graph, config, 0);
  place(*made->model, machine.device, dtype_of(config.train.precision));
  copy_into(load_tensors(folder.best()).tensors, made->model->state(), folder.best().string());
  made->model->eval();
  made->inputs = narrow_graph(*made->model, gate_state, graph, config.graph);
  narrowed_ = std::move(made);
  return *narrowed_;
}

std::unique_ptr<LinkTask> GraphRun::link_task(const Graph& scaled, std::shared_ptr<Model> its_model) const {
  auto task = std::make_unique<LinkTask>(scaled, config.graph, config.link, config.train.batch,
                                         static_cast<uint64_t>(config.train.seed), static_cast<uint64_t>(config.data.split.seed),
                                         std::move(its_model), machine.device, dtype_of(config.train.precision));
  task->measures_statistics = false;
  return task;
}

Predictions GraphRun::predict_on(const Graph& attributed, Split split) {
  return predict_read(narrowed().inputs.of(attributed), split);
}

Predictions GraphRun::predict_read(const Graph& read, Split split) {
  Model& its_model = *narrowed().model;
  if (predicts_links()) return link_task(read, narrowed().model)->predict(its_model, gate_state, split);
  return predict_nodes(its_model, gate_state, read, nodes_of(read, split), config.graph.inference_rows, machine.device,
                       dtype_of(config.train.precision));
}

Predictions GraphRun::predict(Split split) { return predict_on(raw(), split); }

PerturbedPredictions GraphRun::predict_perturbed(Split split, const Perturbation& perturbation, bool) {
  const Nodes perturbed = predicts_links() ? Nodes::all : Nodes::outside_training;
  const Graph copy = perturb_attributes(raw(), perturbation, static_cast<uint64_t>(config.train.seed), perturbed);
  return {predict_on(copy, split), hash_of_attributes(copy)};
}

GateReport GraphRun::gates(Split split) {
  GateReport report = report_gates(*this, [&] {
    c10::InferenceMode inference;
    const Graph scaled = scale_attributes(raw(), graph.scaling);
    // The interface of links has all nodes, and messages pass over training links alone.
    const Graph read = predicts_links() ? link_task(scaled, model)->messages() : scaled;
    const GraphTensors tensors(read, machine.device, dtype_of(config.train.precision));
    const auto batch =
        batch_of_nodes(*model, tensors, whole_block(read), predicts_links() ? all_nodes(read) : nodes_of(read, split));
    GatePass pass = GatePass::evaluation(gate_state, batch->example_ids);
    model->interface(*batch, pass);
    return pass.record(*model->interface_site())->gated.gates.cpu();
  });
  if (!has_instance_gates(*model)) report.parameters = narrowed().model->parameter_count();
  return report;
}

std::optional<InputReport> GraphRun::inputs(Split) {
  if (graph_encoder(*model).input_site() == nullptr) return std::nullopt;
  const torch::Tensor open = attribute_values(*model, gate_state).gt(0).cpu();
  InputReport report{open.size(0), {}};
  for (int64_t i = 0; i < open.size(0); ++i) {
    if (open[i].item<bool>()) report.open.push_back({graph.attribute_names[static_cast<size_t>(i)], 1, {}, {}, {}});
  }
  return report;
}

void GraphRun::fill_attribute_worth(std::vector<OpenInput>& open) {
  const Graph read = narrowed().inputs.of(raw());
  const auto count = std::ssize(open);
  if (read.attributes != count || count < 2 || count * (read.edges() + read.nodes) > most_worth_work) return;
  const double as_is = nll(predict_read(read, Split::valid));
  Progress progress("worth of attributes", count, {"attributes"});
  for (int64_t i = 0; i < count; ++i) {
    OpenInput& attribute = open[static_cast<size_t>(i)];
    progress.update(i, attribute.name);
    attribute.worth_closed = nll(predict_read(without_attribute(read, i), Split::valid)) - as_is;
  }
}

void GraphRun::add_figures(Split split, Evaluation& evaluation) {
  if (evaluation.inputs) fill_attribute_worth(evaluation.inputs->open);
  evaluation.further["nodes"] = raw().nodes;
  evaluation.further["attributes"] = graph.attribute_names.size();
  if (!predicts_links()) return;
  const Graph read = narrowed().inputs.of(raw());
  const RankScores ranks = link_task(read, narrowed().model)->rank(*narrowed().model, gate_state, split);
  evaluation.further.update({{"mrr", ranks.mrr},
                             {"hits_1", ranks.hits_1},
                             {"hits_10", ranks.hits_10},
                             {"hits_50", ranks.hits_50},
                             {"hits_100", ranks.hits_100},
                             {"ranked_negatives", config.link.ranked_negatives}});
}

}  // namespace l0gm
