#include "data/graph/neighbour_sampler.h"

#include <gtest/gtest.h>

#include <set>

#include "data/graph/sampler_tools.h"
#include "l0gm/error.h"
#include "support/allocated_bytes.h"

namespace l0gm {
namespace {

using testing::small_graph;

GraphOptions options_of(std::vector<int64_t> fanout) {
  GraphOptions options;
  options.sampler = SamplerKind::neighbour;
  options.fanout = std::move(fanout);
  return options;
}

TEST(NeighbourSampler, IsUnbiased) {
  const Graph graph = small_graph();
  testing::expect_unbiased(graph, NeighbourSampler(graph, options_of({2, 3}), 2, 10, 1), 2, 6000, 30, 15);
  const Graph directed = small_graph(false);
  testing::expect_unbiased(directed, NeighbourSampler(directed, options_of({2}), 2, 10, 2), 2, 6000, 30, 15);
}

TEST(NeighbourSampler, DrawsRealNeighboursEachOnceAsManyAsTheFanOut) {
  const Graph graph = small_graph();
  const NeighbourSampler sampler(graph, options_of({4, 2}), 2, 7, 3);
  EXPECT_EQ(sampler.steps_per_epoch(), 5);
  for (int64_t index = 0; index < 5; ++index) {
    const MessagePlan plan = sampler.draw(0, index);
    EXPECT_EQ(plan.outputs.size(), index < 4 ? 7U : 2U);
    EXPECT_TRUE(plan.examples.empty());
    ASSERT_EQ(plan.blocks[0]->sources, static_cast<int64_t>(plan.inputs.size()));
    EXPECT_EQ(plan.blocks[0]->targets, plan.blocks[1]->sources);
    for (size_t layer = 0; layer < 2; ++layer) {
      const MessageBlock& block = *plan.blocks[layer];
      const int64_t fanout = layer == 1 ? 4 : 2;
      for (int64_t i = 0; i < block.targets; ++i) {
        const int64_t node = plan.inputs[static_cast<size_t>(i)];
        const auto row = graph.in_neighbours(node);
        EXPECT_EQ(block.target_degree[i], static_cast<float>(row.size()));
        std::set<int64_t> neighbours;
        for (int64_t edge = block.offsets[i]; edge < block.offsets[i + 1]; ++edge) {
          ASSERT_LT(block.neighbours[edge], block.sources);
          neighbours.insert(plan.inputs[static_cast<size_t>(block.neighbours[edge])]);
          const double drawn = static_cast<double>(std::min<int64_t>(fanout, graph.degree(node)));
          EXPECT_FLOAT_EQ(static_cast<float>(testing::weight_at(block, edge)),
                          static_cast<float>(static_cast<double>(row.size()) / drawn));
        }
        EXPECT_EQ(static_cast<int64_t>(neighbours.size()), std::min<int64_t>(fanout, graph.degree(node)));
        EXPECT_EQ(static_cast<int64_t>(neighbours.size()), block.offsets[i + 1] - block.offsets[i]);
        for (const int64_t u : neighbours) EXPECT_TRUE(std::binary_search(row.begin(), row.end(), static_cast<int32_t>(u)));
      }
    }
  }
}

TEST(NeighbourSampler, NumbersTargetsFirstThenNodesAsTheyAppear) {
  const Graph graph = small_graph();
  const MessagePlan plan = NeighbourSampler(graph, options_of({3}), 2, 8, 3).draw(2, 1);
  for (size_t i = 0; i < plan.outputs.size(); ++i) EXPECT_EQ(plan.inputs[i], plan.outputs[i]);
  EXPECT_EQ(std::set<int64_t>(plan.inputs.begin(), plan.inputs.end()).size(), plan.inputs.size());
  for (const auto& block : plan.blocks) {
    EXPECT_TRUE(block->own.empty());
    int32_t next = static_cast<int32_t>(block->targets);
    for (const int32_t source : block->neighbours) {
      ASSERT_LE(source, next);
      if (source == next) ++next;
    }
    EXPECT_EQ(next, block->sources);
  }
}

TEST(NeighbourSampler, WithLargeFanOutsRowsAreCompleteAndWithoutWeights) {
  const Graph graph = small_graph();
  const MessagePlan plan = NeighbourSampler(graph, options_of({100}), 2, 5, 3).draw(0, 0);
  for (const auto& block : plan.blocks) {
    EXPECT_TRUE(block->weights.empty());
    for (int64_t i = 0; i < block->targets; ++i) {
      EXPECT_EQ(block->offsets[i + 1] - block->offsets[i], graph.degree(plan.inputs[static_cast<size_t>(i)]));
    }
  }
}

std::multiset<int64_t> neighbours_of(const MessagePlan& plan, int64_t target) {
  const MessageBlock& block = *plan.blocks.back();
  std::multiset<int64_t> neighbours;
  for (int64_t edge = block.offsets[target]; edge < block.offsets[target + 1]; ++edge) {
    neighbours.insert(plan.inputs[static_cast<size_t>(block.neighbours[edge])]);
  }
  return neighbours;
}

TEST(NeighbourSampler, WhatANodeDrawsDoesNotDependOnTheOthers) {
  const Graph graph = small_graph();
  const MessagePlan few = NeighbourSampler(graph, options_of({2}), 1, 6, 3).draw(4, 0);
  const MessagePlan many = NeighbourSampler(graph, options_of({2}), 1, 24, 3).draw(4, 0);
  ASSERT_TRUE(std::equal(few.outputs.begin(), few.outputs.end(), many.outputs.begin()));
  for (int64_t i = 0; i < 6; ++i) EXPECT_EQ(neighbours_of(few, i), neighbours_of(many, i));
}

TEST(NeighbourSampler, TooFewFanOutsAreRefused) {
  const Graph graph = small_graph();
  EXPECT_THROW(NeighbourSampler(graph, options_of({5, 5}), 3, 5, 0), UserError);
  EXPECT_THROW(NeighbourSampler(graph, options_of({}), 1, 5, 0), UserError);
  EXPECT_EQ(NeighbourSampler(graph, options_of({5, 5, 5}), 2, 5, 0).draw(0, 0).blocks.size(), 2U);
}

TEST(NeighbourSampler, AHubCostsNoMoreThanItsFanOut) {
  const Graph star = testing::star_graph(100'000);
  const NeighbourSampler sampler(star, options_of({10}), 1, 2, 0);
  double sum = sampler.draw(0, 0).blocks[0]->weights[0];  // arrays that a thread keeps are made
  const int64_t before = allocated_bytes();
  for (int64_t epoch = 1; epoch < 20'000; ++epoch) sum += sampler.draw(epoch, 0).blocks[0]->weights[0];
  EXPECT_GT(sum, 20'000);
  EXPECT_LT((allocated_bytes() - before) / 20'000, 4096);  // the hub's row has 400,000 bytes
}

}  // namespace
}  // namespace l0gm
