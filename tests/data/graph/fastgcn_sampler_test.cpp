#include "data/graph/fastgcn_sampler.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "data/graph/sampler_tools.h"

namespace l0gm {
namespace {

using testing::small_graph;

GraphOptions options_of(int64_t layer_nodes) {
  GraphOptions options;
  options.sampler = SamplerKind::fastgcn;
  options.layer_nodes = layer_nodes;
  return options;
}

TEST(FastGcnSampler, IsUnbiased) {
  const Graph graph = small_graph();
  testing::expect_unbiased(graph, FastGcnSampler(graph, options_of(15), 2, 10, 1), 2, 8000, 30, 25);
  const Graph directed = small_graph(false);
  testing::expect_unbiased(directed, FastGcnSampler(directed, options_of(15), 2, 10, 2), 2, 8000, 30, 25);
}

TEST(FastGcnSampler, RowsAreDrawnNeighboursAndTargetsComeFirst) {
  const Graph graph = small_graph();
  const FastGcnSampler sampler(graph, options_of(12), 2, 8, 3);
  EXPECT_EQ(sampler.steps_per_epoch(), 4);
  const MessagePlan plan = sampler.draw(1, 2);
  ASSERT_EQ(plan.blocks.size(), 2U);
  EXPECT_EQ(plan.outputs.size(), 8U);
  EXPECT_EQ(std::set<int64_t>(plan.inputs.begin(), plan.inputs.end()).size(), plan.inputs.size());
  EXPECT_EQ(plan.blocks[0]->sources, static_cast<int64_t>(plan.inputs.size()));
  EXPECT_EQ(plan.blocks[0]->targets, plan.blocks[1]->sources);
  for (const auto& block : plan.blocks) {
    EXPECT_TRUE(block->own.empty());
    EXPECT_LE(block->sources, block->targets + 12);
    std::map<int32_t, float> weight_of;  // one draw serves all targets: a source has one weight
    for (int64_t i = 0; i < block->targets; ++i) {
      const auto row = graph.in_neighbours(plan.inputs[static_cast<size_t>(i)]);
      EXPECT_EQ(block->target_degree[i], static_cast<float>(row.size()));
      for (int64_t edge = block->offsets[i]; edge < block->offsets[i + 1]; ++edge) {
        const int32_t source = block->neighbours[edge];
        ASSERT_LT(source, block->sources);
        EXPECT_TRUE(std::binary_search(row.begin(), row.end(), static_cast<int32_t>(plan.inputs[static_cast<size_t>(source)])));
        EXPECT_EQ(weight_of.emplace(source, block->weights[edge]).first->second, block->weights[edge]);
      }
    }
    EXPECT_GT(weight_of.size(), 3U);
    EXPECT_LE(weight_of.size(), 12U);
  }
}

TEST(FastGcnSampler, AGraphWithoutEdgesHasOnlyItsTargets) {
  Graph graph = testing::graph_of(10, {}, true);
  graph.train = {1, 3, 5};
  const MessagePlan plan = FastGcnSampler(graph, options_of(12), 2, 2, 3).draw(0, 0);
  EXPECT_EQ(plan.inputs, plan.outputs);
  EXPECT_EQ(plan.blocks[0]->neighbours.size(), 0);
}

TEST(FastGcnSampler, AHubIsSearchedNotRead) {
  const Graph star = testing::star_graph(100'000);
  testing::expect_unbiased(star, FastGcnSampler(star, options_of(4), 1, 2, 0), 1, 3000, 2, 1);
}

}  // namespace
}  // namespace l0gm
