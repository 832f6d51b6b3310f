#include "data/graph/sampling.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <stdexcept>

#include "data/graph/sampler_tools.h"

namespace l0gm {
namespace {

TEST(NodeNumbering, NumbersInTheOrderOfMeetingAndForgetsAtAStart) {
  NodeNumbering numbering;
  numbering.start(10);
  EXPECT_EQ(numbering.number(7), 0);
  EXPECT_EQ(numbering.number(3), 1);
  EXPECT_EQ(numbering.number(7), 0);
  EXPECT_EQ(numbering.find(3), 1);
  EXPECT_EQ(numbering.find(4), -1);
  std::vector<int32_t> nodes = {3, 9, 7, 9};
  numbering.number_all(nodes);
  EXPECT_EQ(nodes, (std::vector<int32_t>{1, 2, 0, 2}));
  EXPECT_EQ(numbering.nodes(), (std::vector<int64_t>{7, 3, 9}));
  numbering.start(20);
  EXPECT_EQ(numbering.find(7), -1);
  EXPECT_EQ(numbering.number(19), 0);
  EXPECT_EQ(numbering.size(), 1);
}

TEST(AliasTable, DrawsInProportionAndNeverWhatWeighsNothing) {
  const std::vector<double> weights = {0, 1, 5, 0, 0.25, 1.75, 0};
  const AliasTable table(weights);
  RandomStream random(3);
  std::map<int64_t, double> counts;
  const int draws = 200'000;
  for (int i = 0; i < draws; ++i) ++counts[table.draw(random)];
  for (size_t i = 0; i < weights.size(); ++i) {
    const double p = weights[i] / 8, error = std::sqrt(p * (1 - p) / draws);
    EXPECT_NEAR(counts[static_cast<int64_t>(i)] / draws, p, 4 * error) << i;
  }
  EXPECT_THROW(AliasTable(std::vector<double>{0, 0}), std::invalid_argument);
}

TEST(AliasTable, RoundingGivesNothingToWeightsOfZero) {
  // Thirds do not add up: whatever is left over at the end must not be a number of weight 0.
  std::vector<double> weights(3001, 1.0 / 3);
  for (size_t i = 0; i < weights.size(); i += 10) weights[i] = 0;
  const AliasTable table(weights);
  RandomStream random(4);
  for (int i = 0; i < 100'000; ++i) ASSERT_NE(table.draw(random) % 10, 0);
}

TEST(EpochOrder, EveryNodeOnceAnEpochInAnotherOrderEachTime) {
  std::vector<int64_t> nodes(23);
  std::iota(nodes.begin(), nodes.end(), 100);
  const EpochOrder order(nodes, 5, 1);
  ASSERT_EQ(order.steps(), 5);
  std::vector<std::vector<int64_t>> epochs(4);
  for (int64_t epoch = 0; epoch < 4; ++epoch) {
    for (int64_t index = 0; index < 5; ++index) {
      const auto batch = order.batch(epoch, index);
      EXPECT_EQ(batch.size(), index < 4 ? 5U : 3U);
      epochs[static_cast<size_t>(epoch)].insert(epochs[static_cast<size_t>(epoch)].end(), batch.begin(), batch.end());
    }
    EXPECT_TRUE(std::is_permutation(nodes.begin(), nodes.end(), epochs[static_cast<size_t>(epoch)].begin()));
  }
  EXPECT_NE(epochs[0], epochs[1]);
  EXPECT_NE(epochs[1], epochs[3]);
  EXPECT_EQ(order.batch(1, 0), std::vector<int64_t>(epochs[1].begin(), epochs[1].begin() + 5));  // asked for again, after others
  EXPECT_NE(EpochOrder(nodes, 5, 2).batch(0, 0), order.batch(0, 0));
  EXPECT_THROW(order.batch(0, 5), std::out_of_range);
}

TEST(ColumnNorms, AreThoseOfTheMatrix) {
  for (const bool symmetric : {true, false}) {
    const Graph graph = testing::small_graph(symmetric);
    const auto norms = column_norms(graph);
    std::vector<double> expected(60, 0);
    for (int64_t v = 0; v < 60; ++v) {
      for (const int32_t u : graph.in_neighbours(v)) {
        const double entry = 1 / std::sqrt(static_cast<double>((graph.degree(v) + 1) * (graph.degree(u) + 1)));
        expected[static_cast<size_t>(u)] += entry * entry;
      }
    }
    for (size_t u = 0; u < 60; ++u) EXPECT_NEAR(norms[u], expected[u], 1e-12);
    EXPECT_EQ(norms[58], 0);
  }
}

TEST(ForEachKnown, LookingUpARowAndSearchingItAgree) {
  std::vector<int32_t> row;
  for (int32_t i = 0; i < 5000; ++i) row.push_back(3 * i);
  for (const int64_t count : {3, 40, 900}) {  // 16 times as many as the row is long, or fewer: both ways are gone
    NodeNumbering numbering;
    numbering.start(20'000);
    RandomStream random(static_cast<uint64_t>(count));
    for (int64_t i = 0; i < count; ++i) numbering.number(static_cast<int64_t>(random.below(20'000)));
    numbering.number(14'997);  // the row's last
    auto known = numbering.nodes();
    std::sort(known.begin(), known.end());
    std::vector<std::pair<size_t, int32_t>> found, expected;
    for_each_known(row, known, numbering, [&](size_t place, int32_t number) { found.emplace_back(place, number); });
    for (const int64_t node : known) {
      if (node % 3 == 0 && node < 15'000) expected.emplace_back(node / 3, numbering.find(node));
    }
    EXPECT_GT(expected.size(), 0U);
    EXPECT_EQ(found, expected);
  }
}

}  // namespace
}  // namespace l0gm
