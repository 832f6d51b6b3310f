#include "compact/graph/graph_parity.h"

#include <fmt/format.h>

#include <stdexcept>

#include "data/graph/node_list.h"
#include "l0gm/error.h"
#include "training/graph/graph_task.h"

namespace l0gm {

namespace {

constexpr int64_t large_graph = 200'000, most_checked = 100'000, rows_of_large = 65'536;

LoadedGraph load(const std::filesystem::path& path, torch::Dtype dtype) {
  LoadedGraph run = load_graph_run(path, prepare_machine("cpu", 0, false));
  if (run.config.graph.task == GraphTaskKind::links) {
    throw UserError(
        fmt::format("{} predicts links (graph.task = links); compact models are for the classes of nodes so far", path.string()));
  }
  if (has_instance_gates(*run.model)) {
    throw UserError(
        fmt::format("{} has gates that depend on the node (gate.logits = instance), so that no channel can be left out for all: "
                    "a graph model "
                    "like that cannot be compacted. Train it with gate.logits = global, or predict with the run's folder.",
                    path.string()));
  }
  place(*run.model, torch::kCPU, dtype);
  return run;
}

std::vector<double> ask(LoadedGraph& run, const Graph& graph, std::span<const int64_t> nodes, torch::Dtype dtype) {
  const int64_t rows = inference_rows_for(graph, run.config.graph.inference_rows);
  return predict_nodes(*run.model, run.gate_state, graph, nodes, rows, torch::kCPU, dtype).probabilities;
}

}  // namespace

TrainedGraph::TrainedGraph(const std::filesystem::path& run)
    : single(load(run, torch::kFloat32)),
      exact(load(run, torch::kFloat64)),
      narrowed(load(run, torch::kFloat64)),
      inputs(narrow_graph(narrowed)),
      raw(load_run_graph(exact)),
      scaled(scale_attributes(raw, exact.graph.scaling)),
      read(inputs.of(raw)) {}

std::vector<double> TrainedGraph::probabilities(std::span<const int64_t> nodes, bool exactly) {
  return ask(exactly ? exact : single, scaled, nodes, exactly ? torch::kFloat64 : torch::kFloat32);
}

std::vector<double> TrainedGraph::narrowed_probabilities(std::span<const int64_t> nodes) {
  return ask(narrowed, read, nodes, torch::kFloat64);
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

double check_nodes(const std::vector<double>& found, const std::vector<double>& wanted, double limit, const Graph& graph,
                   std::span<const int64_t> nodes, const char* what) {
  if (found.size() != wanted.size()) throw std::logic_error("check_nodes: two models speak of different nodes");
  const Worst worst = largest_difference(found, wanted);
  if (worst.difference <= limit) return worst.difference;
  const size_t classes = graph.classes.size();
  throw std::runtime_error(
      fmt::format("the compact model is not the trained one ({}): at node {} P({}) is {} where the trained model says {}, a "
                  "difference of {:.3g}; allowed are {:.3g}. "
                  "Nothing was written.",
                  what, graph.node_name(nodes[worst.place / classes]), graph.classes[worst.place % classes], found[worst.place],
                  wanted[worst.place], worst.difference, limit));
}

}  // namespace l0gm
