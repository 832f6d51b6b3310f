#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <utility>
#include <vector>

#include "base/random.h"
#include "data/graph/sampler.h"

namespace l0gm::testing {

// A graph from pairs (u, v): edges u -> v, and with `symmetric` also v -> u.
inline Graph graph_of(int64_t nodes, const std::vector<std::pair<int, int>>& edges, bool symmetric) {
  std::vector<std::set<int32_t>> rows(static_cast<size_t>(nodes));
  for (const auto& [u, v] : edges) {
    rows[static_cast<size_t>(v)].insert(u);
    if (symmetric) rows[static_cast<size_t>(u)].insert(v);
  }
  Graph graph;
  graph.name = "made by hand";
  graph.nodes = nodes;
  graph.symmetric = symmetric;
  std::vector<int64_t> offsets = {0};
  std::vector<int32_t> neighbours;
  for (const auto& row : rows) {
    neighbours.insert(neighbours.end(), row.begin(), row.end());
    offsets.push_back(static_cast<int64_t>(neighbours.size()));
  }
  graph.offsets = std::move(offsets);
  graph.neighbours = std::move(neighbours);
  return graph;
}

// 60 nodes of uneven degrees, the last three without neighbours; every second node is for training, two of the lonely ones among
// them.
inline Graph small_graph(bool symmetric = true) {
  RandomStream random(11);
  std::vector<std::pair<int, int>> edges;
  for (int i = 0; i < 170; ++i) {
    const double towards_zero = random.uniform();
    const int u = static_cast<int>(57 * towards_zero * towards_zero), v = static_cast<int>(random.below(57));
    if (u != v) edges.emplace_back(u, v);
  }
  Graph graph = graph_of(60, edges, symmetric);
  for (int64_t v = 1; v < 60; v += 2) graph.train.push_back(v);
  return graph;
}

// A star: node 0 is linked to all others.
inline Graph star_graph(int leaves) {
  Graph graph;
  graph.nodes = leaves + 1;
  graph.symmetric = true;
  std::vector<int64_t> offsets = {0, leaves};
  std::vector<int32_t> neighbours;
  for (int32_t leaf = 1; leaf <= leaves; ++leaf) neighbours.push_back(leaf);
  for (int leaf = 1; leaf <= leaves; ++leaf) {
    neighbours.push_back(0);
    offsets.push_back(leaves + leaf);
  }
  graph.offsets = std::move(offsets);
  graph.neighbours = std::move(neighbours);
  graph.train = {0, 1};
  return graph;
}

inline std::vector<double> random_feature(int64_t nodes, uint64_t seed) {
  RandomStream random(seed);
  std::vector<double> feature(static_cast<size_t>(nodes));
  for (double& value : feature) value = 1 + random.normal();
  return feature;
}

inline double full_sum(const Graph& graph, const std::vector<double>& feature, int64_t node) {
  double sum = 0;
  for (const int32_t u : graph.in_neighbours(node)) sum += feature[static_cast<size_t>(u)];
  return sum;
}

inline double weight_at(const MessageBlock& block, int64_t edge) { return block.weights.empty() ? 1.0 : block.weights[edge]; }

// The weighted sum over a block's row; `rows`: what its sources hold.
inline double row_sum(const MessageBlock& block, const std::vector<double>& rows, int64_t target) {
  double sum = 0;
  for (int64_t edge = block.offsets[target]; edge < block.offsets[target + 1]; ++edge) {
    sum += weight_at(block, edge) * rows[static_cast<size_t>(block.neighbours[edge])];
  }
  return sum;
}

struct RunningMean {
  int64_t count = 0;
  double mean = 0, squares = 0;
  void add(double value) {
    const double step = value - mean;
    mean += step / static_cast<double>(++count);
    squares += step * (value - mean);
  }
  double deviation() const { return std::sqrt(squares / static_cast<double>(count - 1)); }
  double standard_error() const { return deviation() / std::sqrt(static_cast<double>(count)); }
};

// Per layer and node: the mean over many draws of the weighted neighbour sum of `feature`, whenever the node is a target of the
// layer. Relies on a guarantee of all samplers: a layer's targets are the first of its sources, and sources of all layers are the
// first inputs.
inline std::vector<std::vector<RunningMean>> mean_sums(const Graph& graph, const GraphSampler& sampler,
                                                       const std::vector<double>& feature, int64_t layers, int64_t draws) {
  std::vector<std::vector<RunningMean>> sums(static_cast<size_t>(layers),
                                             std::vector<RunningMean>(static_cast<size_t>(graph.nodes)));
  for (int64_t draw = 0; draw < draws; ++draw) {
    const MessagePlan plan = sampler.draw(draw / sampler.steps_per_epoch(), draw % sampler.steps_per_epoch());
    std::vector<double> rows;
    for (const int64_t node : plan.inputs) rows.push_back(feature[static_cast<size_t>(node)]);
    for (size_t layer = 0; layer < plan.blocks.size(); ++layer) {
      const MessageBlock& block = *plan.blocks[layer];
      for (int64_t i = 0; i < block.targets; ++i) {
        sums[layer][static_cast<size_t>(plan.inputs[static_cast<size_t>(i)])].add(row_sum(block, rows, i));
      }
    }
  }
  return sums;
}

// Each node that is a target often enough receives the full sum on average, within four standard errors of that mean (and what an
// event rarer than ten times in all these draws may add, which they need not show). `by_chance`: nodes for which the sum must
// vary, or the test shows nothing.
inline void expect_unbiased(const Graph& graph, const GraphSampler& sampler, int64_t layers, int64_t draws,
                            int64_t at_least_nodes, int64_t by_chance) {
  const std::vector<double> feature = random_feature(graph.nodes, 5);
  const auto sums = mean_sums(graph, sampler, feature, layers, draws);
  for (const auto& layer : sums) {
    int64_t compared = 0, uncertain = 0;
    for (int64_t node = 0; node < graph.nodes; ++node) {
      const RunningMean& sum = layer[static_cast<size_t>(node)];
      if (sum.count < 300) continue;
      ++compared;
      const double full = full_sum(graph, feature, node), unseen = 10 * std::abs(full) / static_cast<double>(sum.count);
      EXPECT_NEAR(sum.mean, full, 4 * sum.standard_error() + unseen + 1e-5) << "node " << node;
      if (sum.deviation() > 1e-3) ++uncertain;
    }
    EXPECT_GE(compared, at_least_nodes);
    EXPECT_GE(uncertain, by_chance);
  }
}

inline void expect_same(const MessagePlan& a, const MessagePlan& b) {
  EXPECT_EQ(a.inputs, b.inputs);
  EXPECT_EQ(a.outputs, b.outputs);
  EXPECT_EQ(a.examples, b.examples);
  EXPECT_EQ(a.loss_weights, b.loss_weights);
  ASSERT_EQ(a.blocks.size(), b.blocks.size());
  const auto same = [](const auto& x, const auto& y) { return std::equal(x.begin(), x.end(), y.begin(), y.end()); };
  for (size_t layer = 0; layer < a.blocks.size(); ++layer) {
    const MessageBlock &x = *a.blocks[layer], &y = *b.blocks[layer];
    EXPECT_EQ(x.targets, y.targets);
    EXPECT_EQ(x.sources, y.sources);
    EXPECT_TRUE(same(x.offsets, y.offsets));
    EXPECT_TRUE(same(x.neighbours, y.neighbours));
    EXPECT_TRUE(same(x.weights, y.weights));
    EXPECT_TRUE(same(x.own, y.own));
  }
}

inline bool differ(const MessagePlan& a, const MessagePlan& b) {
  const auto &x = a.blocks[0]->neighbours, &y = b.blocks[0]->neighbours;
  return a.inputs != b.inputs || !std::equal(x.begin(), x.end(), y.begin(), y.end());
}

}  // namespace l0gm::testing
