#include "data/graph/blocks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "base/random.h"
#include "data/graph/sampler_tools.h"
#include "l0gm/error.h"

namespace l0gm {
namespace {

using testing::graph_of;
using testing::small_graph;

TEST(WholeBlock, SharesTheGraphsArraysAndKnowsItsDegrees) {
  const Graph graph = small_graph();
  const auto block = whole_block(graph);
  EXPECT_EQ(block->targets, 60);
  EXPECT_EQ(block->sources, 60);
  EXPECT_EQ(block->offsets.data(), graph.offsets.data());
  EXPECT_EQ(block->neighbours.data(), graph.neighbours.data());
  EXPECT_TRUE(block->weights.empty());
  EXPECT_TRUE(block->own.empty());
  EXPECT_TRUE(block->symmetric);
  for (int64_t v = 0; v < 60; ++v) {
    EXPECT_EQ(block->target_degree[v], static_cast<float>(graph.degree(v)));
    EXPECT_EQ(block->source_degree[v], static_cast<float>(graph.degree(v)));
  }
  EXPECT_FALSE(whole_block(small_graph(false))->symmetric);
}

std::set<std::pair<int64_t, int64_t>> edges_of(const MessageBlock& block) {
  std::set<std::pair<int64_t, int64_t>> edges;
  for (int64_t v = 0; v < block.targets; ++v) {
    for (int64_t edge = block.offsets[v]; edge < block.offsets[v + 1]; ++edge) edges.emplace(v, block.neighbours[edge]);
  }
  return edges;
}

TEST(ThinnedBlock, DropsBothDirectionsTogetherAndRecountsDegrees) {
  const Graph graph = small_graph();
  const auto all = edges_of(*whole_block(graph));
  int64_t left = 0;
  for (uint64_t key = 0; key < 50; ++key) {
    const auto block = thinned_block(graph, 0.3, key);
    const auto edges = edges_of(*block);
    EXPECT_TRUE(block->symmetric);
    ASSERT_EQ(block->targets, 60);
    EXPECT_EQ(static_cast<int64_t>(edges.size()), block->neighbours.size());
    EXPECT_TRUE(std::includes(all.begin(), all.end(), edges.begin(), edges.end()));
    for (const auto& [v, u] : edges) EXPECT_TRUE(edges.contains({u, v}));
    for (int64_t v = 0; v < 60; ++v) {
      EXPECT_EQ(block->target_degree[v], static_cast<float>(block->offsets[v + 1] - block->offsets[v]));
      EXPECT_EQ(block->source_degree[v], block->target_degree[v]);
    }
    left += static_cast<int64_t>(edges.size()) / 2;
  }
  const double trials = 50 * static_cast<double>(all.size()) / 2;
  EXPECT_NEAR(static_cast<double>(left), 0.7 * trials, 4 * std::sqrt(0.3 * 0.7 * trials));
  EXPECT_EQ(edges_of(*thinned_block(graph, 0.3, 1)), edges_of(*thinned_block(graph, 0.3, 1)));
  EXPECT_NE(edges_of(*thinned_block(graph, 0.3, 1)), edges_of(*thinned_block(graph, 0.3, 2)));
  EXPECT_EQ(edges_of(*thinned_block(graph, 0, 1)), all);
}

TEST(ThinnedBlock, DirectionsAreDroppedIndependentlyInADirectedGraph) {
  std::vector<std::pair<int, int>> edges;
  for (int i = 0; i < 200; ++i) {
    edges.emplace_back(i, (i + 1) % 200);
    edges.emplace_back((i + 1) % 200, i);
  }
  const Graph graph = graph_of(200, edges, false);
  const auto left = edges_of(*thinned_block(graph, 0.5, 9));
  EXPECT_TRUE(std::any_of(left.begin(), left.end(), [&](const auto& edge) { return !left.contains({edge.second, edge.first}); }));
}

// Large enough for several threads, with rows across the ends of what is drawn at once.
TEST(ThinnedBlock, AnEdgeGoesByItsOwnNumberWhateverTheThread) {
  const int64_t nodes = 150'000, reach = 6;
  Graph graph;
  graph.nodes = nodes;
  graph.symmetric = true;
  std::vector<int64_t> offsets = {0};
  std::vector<int32_t> neighbours;
  for (int64_t v = 0; v < nodes; ++v) {
    for (int64_t u = std::max<int64_t>(v - reach, 0); u <= std::min(v + reach, nodes - 1); ++u) {
      if (u != v) neighbours.push_back(static_cast<int32_t>(u));
    }
    offsets.push_back(static_cast<int64_t>(neighbours.size()));
  }
  graph.offsets = std::move(offsets);
  graph.neighbours = std::move(neighbours);
  const auto block = thinned_block(graph, 0.4, 77);
  ASSERT_EQ(block->targets, nodes);
  for (int64_t v = 0; v < nodes; v += 31) {
    std::vector<int32_t> expected;
    for (const int32_t u : graph.in_neighbours(v)) {
      const int64_t number = std::min<int64_t>(u, v) << 32 | std::max<int64_t>(u, v);
      float uniform = 0;
      fill_uniform(77, &number, 1, 1, &uniform);
      if (uniform >= 0.4F) expected.push_back(u);
    }
    const auto row = block->neighbours.span().subspan(static_cast<size_t>(block->offsets[v]),
                                                      static_cast<size_t>(block->offsets[v + 1] - block->offsets[v]));
    ASSERT_TRUE(std::equal(row.begin(), row.end(), expected.begin(), expected.end())) << v;
  }
}

// Two layers of y[v] = x[v] + sum of the neighbours, along a plan.
std::vector<double> propagate_twice(const MessagePlan& plan, const std::vector<double>& feature) {
  std::vector<double> rows;
  if (plan.inputs.empty()) rows = feature;
  for (const int64_t node : plan.inputs) rows.push_back(feature[static_cast<size_t>(node)]);
  for (const auto& block : plan.blocks) {
    EXPECT_EQ(block->sources, static_cast<int64_t>(rows.size()));
    std::vector<double> next;
    for (int64_t i = 0; i < block->targets; ++i) {
      const int64_t own = block->own.empty() ? i : block->own[i];
      next.push_back(rows[static_cast<size_t>(own)] / (1 + block->target_degree[i]) + testing::row_sum(*block, rows, i));
    }
    rows = next;
  }
  if (plan.examples.empty()) return rows;
  std::vector<double> examples;
  for (const int32_t row : plan.examples) examples.push_back(rows[static_cast<size_t>(row)]);
  return examples;
}

class CompletePlan : public ::testing::TestWithParam<bool> {};

TEST_P(CompletePlan, ComputesWhatTheWholeGraphComputes) {
  const Graph graph = small_graph(GetParam());
  const auto whole = whole_block(graph);
  const auto feature = testing::random_feature(60, 8);
  MessagePlan everything;
  everything.blocks = {whole, whole};
  const auto expected = propagate_twice(everything, feature);
  std::vector<int64_t> most(57);
  std::iota(most.begin(), most.end(), 2);
  std::vector<int64_t> half(30);
  std::iota(half.begin(), half.end(), 5);
  for (const std::vector<int64_t>& nodes : {std::vector<int64_t>{58}, {41}, {41, 3, 58}, {7, 7, 2, 7}, half, most}) {
    const MessagePlan plan = complete_plan(graph, whole, nodes, 2);
    const auto found = propagate_twice(plan, feature);
    ASSERT_EQ(found.size(), nodes.size());
    for (size_t i = 0; i < nodes.size(); ++i) EXPECT_EQ(found[i], expected[static_cast<size_t>(nodes[i])]) << nodes[i];
    for (const auto& block : plan.blocks) EXPECT_TRUE(block->weights.empty());
  }
}

INSTANTIATE_TEST_SUITE_P(Directions, CompletePlan, ::testing::Bool());

TEST(CompletePlanShape, ReadsNoMoreThanItMust) {
  const Graph path = graph_of(40, {{0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 5}, {5, 6}, {6, 7}}, true);
  const MessagePlan plan = complete_plan(path, whole_block(path), std::vector<int64_t>{3, 30}, 2);
  EXPECT_EQ(plan.outputs, (std::vector<int64_t>{3, 30}));
  EXPECT_TRUE(plan.examples.empty());
  EXPECT_EQ(plan.inputs, (std::vector<int64_t>{3, 30, 2, 4, 1, 5}));
  EXPECT_EQ(plan.blocks[1]->targets, 2);
  EXPECT_EQ(plan.blocks[1]->sources, 4);
  EXPECT_EQ(plan.blocks[0]->targets, 4);
  EXPECT_EQ(plan.blocks[0]->sources, 6);
  EXPECT_EQ(plan.blocks[0]->source_degree[5], 2);  // the graph's degree, though no layer computes node 5
}

TEST(CompletePlanShape, SharesTheWholeBlockWhereNearlyAllIsNeeded) {
  std::vector<std::pair<int, int>> edges;
  for (int leaf = 1; leaf < 100; ++leaf) edges.emplace_back(0, leaf);
  const Graph star = graph_of(100, edges, true);
  const auto whole = whole_block(star);
  const MessagePlan plan = complete_plan(star, whole, std::vector<int64_t>{0, 17}, 3);
  EXPECT_TRUE(plan.inputs.empty());
  EXPECT_EQ(plan.blocks[0], whole);
  EXPECT_EQ(plan.blocks[1], whole);
  EXPECT_EQ(plan.blocks[2]->targets, 2);
  EXPECT_EQ(plan.blocks[2]->sources, 100);
  EXPECT_EQ(plan.blocks[2]->own[1], 17);

  std::vector<int64_t> all(100);
  std::iota(all.begin(), all.end(), 0);
  const MessagePlan everything = complete_plan(star, whole, all, 2);
  EXPECT_EQ(everything.blocks[1], whole);
  EXPECT_TRUE(everything.outputs.empty());
  EXPECT_TRUE(everything.examples.empty());
  std::reverse(all.begin(), all.end());
  EXPECT_EQ(complete_plan(star, whole, all, 2).examples.size(), 100U);
}

TEST(CompletePlanShape, RefusesNodesThatAreNotThere) {
  const Graph graph = small_graph();
  EXPECT_THROW(complete_plan(graph, whole_block(graph), std::vector<int64_t>{60}, 1), UserError);
  EXPECT_THROW(complete_plan(graph, whole_block(graph), std::vector<int64_t>{}, 1), UserError);
}

}  // namespace
}  // namespace l0gm
