#pragma once

#include <ATen/Functions.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/random.h"
#include "batches/graph/graph_batches.h"
#include "model/graph_model.h"

namespace l0gm::testing_tools {

struct TinyGraph {
  bool sparse = false, undirected = true;
  int64_t nodes = 40;
};

// Six attributes, many of them 0; three classes of which training nodes have two. Nodes 5, 6, 11 and the last, of every split,
// are alone.
inline Graph tiny_graph(const TinyGraph& wanted = {}) {
  RandomStream random(7);
  Graph graph;
  graph.name = "tiny";
  graph.nodes = wanted.nodes;
  EdgeList edges;
  const auto alone = [&](uint64_t v) { return v == 5 || v == 6 || v == 11 || static_cast<int64_t>(v) + 1 == wanted.nodes; };
  for (int64_t i = 0; i < 2 * wanted.nodes; ++i) {
    const uint64_t u = random.below(static_cast<uint64_t>(wanted.nodes)), v = random.below(static_cast<uint64_t>(wanted.nodes));
    if (alone(u) || alone(v)) continue;
    edges.from.push_back(static_cast<int32_t>(u));
    edges.to.push_back(static_cast<int32_t>(v));
  }
  build_adjacency(graph, std::move(edges), wanted.undirected);
  graph.attributes = 6;
  graph.attribute_names = {"a0", "a1", "a2", "a3", "a4", "a5"};
  std::vector<float> dense, values;
  std::vector<int64_t> offsets = {0};
  std::vector<int32_t> columns, labels;
  for (int64_t v = 0; v < wanted.nodes; ++v) {
    const bool train = v % 4 < 2;
    labels.push_back(static_cast<int32_t>(train ? v % 2 : v % 3));
    (train ? graph.train : v % 4 == 2 ? graph.valid : graph.test).push_back(v);
    for (int32_t j = 0; j < 6; ++j) {
      const double value = random.uniform() < 0.4 ? 0 : random.normal();
      dense.push_back(static_cast<float>(value));
      if (value == 0) continue;
      columns.push_back(j);
      values.push_back(static_cast<float>(value));
    }
    offsets.push_back(static_cast<int64_t>(columns.size()));
  }
  if (wanted.sparse) {
    graph.sparse = {offsets, columns, values};
  } else {
    graph.dense = dense;
  }
  graph.labels = labels;
  graph.classes = {"zero", "one", "two"};
  return graph;
}

// Every kind of layer.
struct GraphKind {
  std::string name;
  Aggregate aggregate = Aggregate::mean;
  std::string text() const { return name == "sage" ? name + " " + std::string(name_of_enum(aggregate)) : name; }
};
inline const std::vector<GraphKind>& graph_kinds() {
  static const std::vector<GraphKind> kinds = {
      {"mlp"}, {"gcn"}, {"gat"}, {"sage", Aggregate::mean}, {"sage", Aggregate::max}, {"sage", Aggregate::pool}};
  return kinds;
}

// Two layers of 8 channels without dropout.
inline GraphModelOptions tiny_options(const GraphKind& kind) {
  GraphModelOptions options;
  options.model.name = kind.name;
  options.model.hidden = 8;
  options.model.depth = 2;
  options.model.dropout = options.model.interface_dropout = 0;
  options.graph.aggregate = kind.aggregate;
  options.graph.heads = 2;
  options.graph.blocks = 4;
  return options;
}

inline GateOptions gate_of_units(UnitKind unit, TestRule rule = TestRule::threshold) {
  GateOptions gate;
  gate.unit = unit;
  gate.test_rule = rule;
  return gate;
}

// As if trained, in double precision: nothing is 0 or 1 by construction, and stored statistics are not those of any data.
inline void shake(Model& model, uint64_t seed = 3) {
  place(model, torch::kCPU, torch::kFloat64);
  torch::NoGradGuard no_grad;
  RandomStream random(seed);
  for (auto& item : model.named_parameters()) {
    torch::Tensor values = item.value();
    const bool variance = item.key().ends_with(".variance");
    for (int64_t i = 0; i < values.numel(); ++i)
      values.data_ptr<double>()[i] += variance ? random.uniform() : 0.4 * random.normal();
  }
}

inline std::shared_ptr<Model> tiny_model(const Graph& graph, const GraphModelOptions& options, const GateOptions& gate,
                                         uint64_t seed = 1) {
  std::vector<int64_t> class_rows(graph.classes.size(), 0);
  for (const int64_t node : graph.train) ++class_rows[static_cast<size_t>(graph.labels[node])];
  auto model = make_graph_model({graph.attribute_names, {}, class_rows}, options, gate, seed);
  shake(*model, seed + 2);
  return model;
}

// All nodes as examples; every layer hears the whole graph.
inline std::shared_ptr<GraphBatch> whole_batch(const Graph& graph, int64_t layers, torch::Dtype dtype = torch::kFloat64) {
  MessagePlan plan;
  plan.blocks.assign(static_cast<size_t>(layers), whole_block(graph));
  return GraphTensors(graph, torch::kCPU, dtype).batch(plan);
}

inline const GateState hardened_gates{Phase::harden, 0.5, 1, 1}, annealing_gates{Phase::anneal, 1, 1, 1};

inline torch::Tensor logits_of(Model& model, const GraphBatch& batch, const GateState& state = hardened_gates) {
  torch::NoGradGuard no_grad;
  model.eval();
  GatePass pass = GatePass::evaluation(state, batch.example_ids);
  return model.forward(batch, pass);
}

}  // namespace l0gm::testing_tools
