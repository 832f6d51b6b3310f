#include "data/graph/sampler.h"

#include <gtest/gtest.h>

#include <stdexcept>

#include "data/graph/sampler_tools.h"
#include "l0gm/error.h"

namespace l0gm {
namespace {

using testing::small_graph;

class EverySampler : public ::testing::TestWithParam<SamplerKind> {};
INSTANTIATE_TEST_SUITE_P(Kinds, EverySampler,
                         ::testing::Values(SamplerKind::neighbour, SamplerKind::fastgcn, SamplerKind::saint_node,
                                           SamplerKind::saint_edge, SamplerKind::saint_walk));

std::unique_ptr<GraphSampler> sampler_of(const Graph& graph, SamplerKind kind, uint64_t seed) {
  GraphOptions options;
  options.sampler = kind;
  options.fanout = {3, 2};
  options.layer_nodes = 10;
  return make_sampler(graph, options, 2, 12, seed);
}

TEST_P(EverySampler, AStepIsAFunctionOfSeedEpochAndIndex) {
  const Graph graph = small_graph();
  const auto one = sampler_of(graph, GetParam(), 4), same = sampler_of(graph, GetParam(), 4),
             other = sampler_of(graph, GetParam(), 5);
  const int64_t steps = one->steps_per_epoch();
  ASSERT_GE(steps, 3);
  std::vector<MessagePlan> forwards;
  for (int64_t step = 0; step < 3 * steps; ++step) forwards.push_back(one->draw(step / steps, step % steps));
  for (int64_t step = 3 * steps - 1; step >= 0; --step) {
    testing::expect_same(same->draw(step / steps, step % steps), forwards[static_cast<size_t>(step)]);
  }
  EXPECT_TRUE(testing::differ(forwards[0], forwards[1]));
  EXPECT_TRUE(testing::differ(forwards[0], forwards[static_cast<size_t>(steps)]));
  EXPECT_TRUE(testing::differ(forwards[0], other->draw(0, 0)));
}

TEST_P(EverySampler, StepsThatAreNotThereAreRefused) {
  const Graph graph = small_graph();
  const auto sampler = sampler_of(graph, GetParam(), 4);
  EXPECT_THROW(sampler->draw(0, sampler->steps_per_epoch()), std::out_of_range);
  EXPECT_THROW(sampler->draw(0, -1), std::out_of_range);
}

TEST_P(EverySampler, LonelyTrainingNodesAreExamplesToo) {
  const Graph graph = small_graph();
  const auto sampler = sampler_of(graph, GetParam(), 4);
  bool met = false;
  for (int64_t step = 0; step < 200 && !met; ++step) {
    const MessagePlan plan = sampler->draw(step / sampler->steps_per_epoch(), step % sampler->steps_per_epoch());
    for (size_t row = 0; row < plan.outputs.size(); ++row) {
      if (plan.outputs[row] != 59) continue;
      met = plan.examples.empty() ||
            std::find(plan.examples.begin(), plan.examples.end(), static_cast<int32_t>(row)) != plan.examples.end();
      EXPECT_EQ(plan.blocks.back()->offsets[static_cast<int64_t>(row) + 1],
                plan.blocks.back()->offsets[static_cast<int64_t>(row)]);
    }
  }
  EXPECT_TRUE(met);
}

TEST(MakeSampler, RefusesWhatCannotBeSampled) {
  Graph graph = small_graph();
  EXPECT_THROW(sampler_of(graph, SamplerKind::full, 0), std::invalid_argument);
  GraphOptions options;
  options.sampler = SamplerKind::saint_node;
  EXPECT_THROW(make_sampler(graph, options, 2, 0, 0), UserError);
  graph.train.clear();
  EXPECT_THROW(sampler_of(graph, SamplerKind::neighbour, 0), UserError);
}

}  // namespace
}  // namespace l0gm
