#include "compact/graph/trained_graph.h"

#include <fmt/format.h>

#include <algorithm>

#include "data/graph/node_list.h"
#include "l0gm/error.h"
#include "training/graph/graph_task.h"

namespace l0gm {

namespace {

constexpr int64_t large_graph = 200'000, most_checked = 100'000, rows_of_large = 65'536;

GraphRun load(const std::filesystem::path& path, torch::Dtype dtype) {
  GraphRun run(path, prepare_machine("cpu", 0, false));
  if (has_instance_gates(*run.model)) {
    throw UserError(
        fmt::format("{} has gates that depend on the node (gate.logits = instance), so that no channel can be left out for all: "
                    "a graph model like that cannot be compacted. Train it with gate.logits = global, or predict with the run's "
                    "folder.",
                    path.string()));
  }
  place(*run.model, torch::kCPU, dtype);
  return run;
}

NarrowedGraph narrow(GraphRun run) { return {run.model, narrow_graph(*run.model, run.gate_state, run.graph, run.config.graph)}; }

std::vector<double> ask(Model& model, const GraphRun& run, const Graph& graph, std::span<const int64_t> nodes,
                        torch::Dtype dtype) {
  const int64_t rows = inference_rows_for(graph, run.config.graph.inference_rows);
  return predict_nodes(model, run.gate_state, graph, nodes, rows, torch::kCPU, dtype).probabilities;
}

}  // namespace

TrainedGraph::TrainedGraph(const std::filesystem::path& run)
    : single(load(run, torch::kFloat32)),
      exact(load(run, torch::kFloat64)),
      narrowed(narrow(load(run, torch::kFloat64))),
      raw(exact.raw()),
      scaled(scale_attributes(raw, exact.graph.scaling)),
      read(narrowed.inputs.of(raw)) {}

std::vector<double> TrainedGraph::probabilities(std::span<const int64_t> nodes, Precision precision) {
  GraphRun& run = precision == Precision::float64 ? exact : single;
  return ask(*run.model, run, scaled, nodes, dtype_of(precision));
}

std::vector<double> TrainedGraph::narrowed_probabilities(std::span<const int64_t> nodes) {
  return ask(*narrowed.model, exact, read, nodes, torch::kFloat64);
}

int64_t inference_rows_for(const Graph& graph, int64_t configured) {
  return configured > 0 ? configured : graph.nodes > large_graph ? rows_of_large : 0;
}

std::vector<int64_t> nodes_to_check(const Graph& graph) {
  if (graph.nodes <= large_graph) return all_nodes(graph);
  std::vector<int64_t> held_out = graph.valid;
  held_out.insert(held_out.end(), graph.test.begin(), graph.test.end());
  const auto step = static_cast<size_t>((static_cast<int64_t>(held_out.size()) + most_checked - 1) / most_checked);
  std::vector<int64_t> nodes;
  for (size_t i = 0; i < held_out.size(); i += step) nodes.push_back(held_out[i]);
  return nodes;
}

std::vector<int64_t> nodes_to_predict(const Graph& graph, std::vector<int64_t> checked) {
  checked.insert(checked.end(), graph.valid.begin(), graph.valid.end());
  checked.insert(checked.end(), graph.test.begin(), graph.test.end());
  std::sort(checked.begin(), checked.end());
  checked.erase(std::unique(checked.begin(), checked.end()), checked.end());
  return checked;
}

std::vector<double> rows_at(const std::vector<int64_t>& wanted, const std::vector<int64_t>& predicted,
                            const std::vector<double>& probabilities, size_t classes) {
  std::vector<double> rows;
  rows.reserve(wanted.size() * classes);
  for (const int64_t node : wanted) {
    const auto place = std::lower_bound(predicted.begin(), predicted.end(), node) - predicted.begin();
    const auto first = probabilities.begin() + place * static_cast<int64_t>(classes);
    rows.insert(rows.end(), first, first + static_cast<int64_t>(classes));
  }
  return rows;
}

Predictions predictions_at(Split split, const Graph& graph, const std::vector<int64_t>& predicted,
                           const std::vector<double>& probabilities) {
  Predictions some;
  some.classes = graph.classes;
  for (const int64_t node : split == Split::valid ? graph.valid : graph.test) {
    if (!std::binary_search(predicted.begin(), predicted.end(), node)) continue;
    some.rows.push_back(node);
    some.labels.push_back(graph.labels[node]);
  }
  some.probabilities = rows_at(some.rows, predicted, probabilities, graph.classes.size());
  return some;
}

}  // namespace l0gm
