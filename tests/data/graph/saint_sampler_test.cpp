#include "data/graph/saint_sampler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "data/graph/sampler_tools.h"
#include "data/graph/walk_distribution.h"
#include "l0gm/error.h"

namespace l0gm {
namespace {

using testing::RunningMean;
using testing::small_graph;

GraphOptions options_of(SamplerKind kind) {
  GraphOptions options;
  options.sampler = kind;
  options.walk_length = 3;
  return options;
}

// The same with three training nodes: small subgraphs often have none of them and are drawn again.
Graph scarce_graph(bool symmetric = true) {
  Graph graph = small_graph(symmetric);
  graph.train = {20, 41, 59};
  return graph;
}

class ExactSaint : public ::testing::TestWithParam<SamplerKind> {};
INSTANTIATE_TEST_SUITE_P(Distributions, ExactSaint, ::testing::Values(SamplerKind::saint_node, SamplerKind::saint_edge));

TEST_P(ExactSaint, IsUnbiased) {
  const Graph graph = small_graph();
  testing::expect_unbiased(graph, SaintSampler(graph, options_of(GetParam()), 2, 20, 1), 2, 20'000, 60, 50);
  const Graph directed = small_graph(false);
  testing::expect_unbiased(directed, SaintSampler(directed, options_of(GetParam()), 1, 20, 2), 1, 20'000, 60, 50);
}

TEST_P(ExactSaint, IsUnbiasedWhereSubgraphsAreOftenDrawnAgain) {
  const Graph graph = scarce_graph();
  testing::expect_unbiased(graph, SaintSampler(graph, options_of(GetParam()), 1, 6, 1), 1, 60'000, 60, 50);
  const Graph directed = scarce_graph(false);
  testing::expect_unbiased(directed, SaintSampler(directed, options_of(GetParam()), 1, 6, 2), 1, 60'000, 60, 50);
}

TEST_P(ExactSaint, ChancesMatchHowOftenANodeIsDrawn) {
  for (const bool symmetric : {true, false}) {
    const Graph graph = scarce_graph(symmetric);
    const auto distribution = GetParam() == SamplerKind::saint_node ? node_distribution(graph, 6) : edge_distribution(graph, 3);
    const auto is_training = mark_training(graph);
    std::vector<double> count(60, 0);
    const int draws = 40'000;
    for (uint64_t key = 0; key < draws; ++key) {
      for (const int64_t node : draw_subgraph(*distribution, is_training, key)) ++count[static_cast<size_t>(node)];
    }
    for (int64_t node = 0; node < 60; ++node) {
      const double p = distribution->chance(node);
      EXPECT_NEAR(count[static_cast<size_t>(node)] / draws, p, 4 * std::sqrt(p * (1 - p) / draws)) << node;
    }
  }
}

// The sum over examples of weight * loss, as the trainer takes it (step_loss), has the mean loss of all training nodes as
// expectation, also if some are drawn more often.
void expect_unbiased_loss(const Graph& graph, const SaintSampler& sampler, int64_t draws) {
  const std::vector<double> loss = testing::random_feature(graph.nodes, 6);
  double mean = 0;
  for (const int64_t node : graph.train) mean += loss[static_cast<size_t>(node)] / static_cast<double>(graph.train.size());
  RunningMean found, weight_sum;
  for (int64_t draw = 0; draw < draws; ++draw) {
    const MessagePlan plan = sampler.draw(draw / sampler.steps_per_epoch(), draw % sampler.steps_per_epoch());
    ASSERT_FALSE(plan.examples.empty());
    ASSERT_EQ(plan.examples.size(), plan.loss_weights.size());
    double sum = 0, weights = 0;
    for (size_t i = 0; i < plan.examples.size(); ++i) {
      const int64_t node = plan.outputs[static_cast<size_t>(plan.examples[i])];
      sum += plan.loss_weights[i] * loss[static_cast<size_t>(node)];
      weights += plan.loss_weights[i];
    }
    found.add(sum);
    weight_sum.add(weights);
  }
  EXPECT_NEAR(found.mean, mean, 4 * found.standard_error());
  EXPECT_NEAR(weight_sum.mean, 1, 4 * weight_sum.standard_error());
}

TEST_P(ExactSaint, TheLossIsUnbiased) {
  const Graph graph = small_graph(), scarce = scarce_graph();
  expect_unbiased_loss(graph, SaintSampler(graph, options_of(GetParam()), 1, 20, 1), 20'000);
  expect_unbiased_loss(scarce, SaintSampler(scarce, options_of(GetParam()), 1, 6, 1), 20'000);
}

TEST_P(ExactSaint, AStarsHubIsNoSpecialCase) {
  Graph star = testing::star_graph(40);
  testing::expect_unbiased(star, SaintSampler(star, options_of(GetParam()), 1, 10, 1), 1, 10'000, 41, 1);
  star.train = {7};
  testing::expect_unbiased(star, SaintSampler(star, options_of(GetParam()), 1, 4, 1), 1, 20'000, 41, 1);
}

// An edge's weight is estimated from C counts, and is off by a share of sqrt((1 - share of the node's subgraphs) / C) for one
// standard deviation, and by 1 / C more on average, since a mean stands in the denominator. Four deviations of both kinds of
// chance are allowed.
TEST(WalkSaint, IsUnbiasedWithinWhatItsCountsAllow) {
  const Graph graph = small_graph();
  const GraphOptions options = options_of(SamplerKind::saint_walk);
  const auto feature = testing::random_feature(60, 5);
  const auto sums = testing::mean_sums(graph, SaintSampler(graph, options, 1, 20, 1), feature, 1, 20'000);
  const auto distribution = walk_distribution(graph, 5, 3, 1, 1);
  const double subgraphs = 150;  // 50 * 60 / 20
  int64_t compared = 0;
  double worst_without_weights = 0;
  for (int64_t v = 0; v < 60; ++v) {
    const RunningMean& sum = sums[0][static_cast<size_t>(v)];
    ASSERT_GT(sum.count, 1000);
    double variance = sum.standard_error() * sum.standard_error(), bias = 0, alone = 0;
    for (int64_t place = 0; place < graph.degree(v); ++place) {
      const double x = feature[static_cast<size_t>(graph.in_neighbours(v)[static_cast<size_t>(place)])];
      const double share = distribution->chance(v, place) / distribution->chance(v),
                   count = distribution->chance(v, place) * subgraphs;
      variance += x * x * (1 - share) / count;
      bias += std::abs(x) / count;
      alone += x * share;
    }
    const double full = testing::full_sum(graph, feature, v);
    EXPECT_NEAR(sum.mean, full, 4 * std::sqrt(variance) + bias + 1e-5) << v;
    worst_without_weights = std::max(worst_without_weights, std::abs(alone - full) / (4 * std::sqrt(variance) + bias + 1e-5));
    ++compared;
  }
  EXPECT_EQ(compared, 60);
  EXPECT_GT(worst_without_weights, 1.0) << "the tolerance would let pass sums without weights";
}

TEST(WalkSaint, CountsAreTheSameOnAnyNumberOfThreads) {
  const Graph graph = small_graph();
  const auto one = walk_distribution(graph, 5, 3, 1, 9), four = walk_distribution(graph, 5, 3, 4, 9);
  for (int64_t v = 0; v < 60; ++v) {
    EXPECT_EQ(one->chance(v), four->chance(v));
    for (int64_t place = 0; place < graph.degree(v); ++place) EXPECT_EQ(one->chance(v, place), four->chance(v, place));
  }
}

TEST(SaintSampler, OneInducedSquareBlockServesAllLayers) {
  const Graph graph = small_graph();
  for (const SamplerKind kind : {SamplerKind::saint_node, SamplerKind::saint_edge, SamplerKind::saint_walk}) {
    const SaintSampler sampler(graph, options_of(kind), 3, 24, 2);
    EXPECT_EQ(sampler.steps_per_epoch(), 3);
    const MessagePlan plan = sampler.draw(0, 1);
    ASSERT_EQ(plan.blocks.size(), 3U);
    EXPECT_EQ(plan.blocks[0], plan.blocks[2]);
    EXPECT_EQ(plan.inputs, plan.outputs);
    EXPECT_TRUE(std::is_sorted(plan.inputs.begin(), plan.inputs.end()));
    EXPECT_LE(plan.inputs.size(), 24U);
    EXPECT_GT(plan.inputs.size(), 8U);
    const MessageBlock& block = *plan.blocks[0];
    EXPECT_EQ(block.targets, block.sources);
    EXPECT_TRUE(block.own.empty());
    size_t examples = 0;
    for (int64_t i = 0; i < block.targets; ++i) {
      const int64_t node = plan.inputs[static_cast<size_t>(i)];
      EXPECT_EQ(block.target_degree[i], static_cast<float>(graph.degree(node)));
      examples += std::binary_search(graph.train.begin(), graph.train.end(), node) ? 1 : 0;
      std::vector<int64_t> neighbours, expected;
      for (int64_t edge = block.offsets[i]; edge < block.offsets[i + 1]; ++edge) {
        neighbours.push_back(plan.inputs[static_cast<size_t>(block.neighbours[edge])]);
        EXPECT_GE(block.weights[edge], 1.0F - 1e-6F);
      }
      const auto row = graph.in_neighbours(node);
      std::set_intersection(row.begin(), row.end(), plan.inputs.begin(), plan.inputs.end(), std::back_inserter(expected));
      EXPECT_EQ(neighbours, expected);
    }
    EXPECT_EQ(examples, plan.examples.size());
    for (const int32_t row : plan.examples) {
      EXPECT_TRUE(std::binary_search(graph.train.begin(), graph.train.end(), plan.outputs[static_cast<size_t>(row)]));
    }
  }
}

TEST(SaintSampler, ATrainingNodeThatNeverComesIsAMessage) {
  Graph star = testing::star_graph(3'000'000);
  star.train = {7};
  const SaintSampler sampler(star, options_of(SamplerKind::saint_edge), 1, 2, 0);
  EXPECT_THROW(sampler.draw(0, 0), UserError);
}

}  // namespace
}  // namespace l0gm
