#include "data/made/made_table.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "base/random.h"
#include "data/made/made_tools.h"

namespace l0gm {
namespace {

TEST(Made, BayesScoresByHand) {
  // Rows of .2 and .8: of the pairs (yes, no), .64 are in order, .04 are not, .32 are ties.
  const BayesScores two = bayes_scores({0.8, 0.2});
  EXPECT_NEAR(two.auc, 0.64 + 0.16, 1e-12);
  EXPECT_NEAR(two.nll, -0.8 * std::log(0.8) - 0.2 * std::log(0.2), 1e-12);
  EXPECT_NEAR(bayes_scores({0.3, 0.3, 0.3}).auc, 0.5, 1e-12);
  const BayesScores certain = bayes_scores({0, 1, 1, 0});
  EXPECT_EQ(certain.auc, 1);
  EXPECT_EQ(certain.nll, 0);
}

TEST(Made, ZipfRanksHaveTheSharesOfTheIntegral) {
  for (const double exponent : {0.0, 0.7, 1.1, 2.0}) {
    RandomStream random(3);
    constexpr int64_t count = 1000, draws = 200000;
    std::vector<double> first_ten, first_hundred;
    for (int64_t i = 0; i < draws; ++i) {
      const int64_t rank = zipf_rank(random.uniform(), count, exponent);
      ASSERT_GE(rank, 0);
      ASSERT_LT(rank, count);
      first_ten.push_back(rank < 10);
      first_hundred.push_back(rank < 100);
    }
    const auto share = [&](double ranks) {
      return (std::pow(ranks + 1, 1 - exponent) - 1) / (std::pow(count + 1.0, 1 - exponent) - 1);
    };
    EXPECT_TRUE(made_tools::mean_of(first_ten).agrees(share(10), 4)) << exponent;
    EXPECT_TRUE(made_tools::mean_of(first_hundred).agrees(share(100), 4)) << exponent;
  }
  EXPECT_EQ(zipf_rank(0x1p-53, 5, 1.1), 0);
  EXPECT_EQ(zipf_rank(1 - 0x1p-53, 5, 1.1), 4);
}

TEST(Made, EffectsAreStandardNormalAndBelongToFieldAndValue) {
  std::vector<double> effects, squares;
  std::set<double> distinct;
  for (int64_t value = 0; value < 20000; ++value) {
    effects.push_back(value_effect(7, value));
    squares.push_back(effects.back() * effects.back());
    distinct.insert(effects.back());
  }
  EXPECT_TRUE(made_tools::mean_of(effects).agrees(0, 4));
  EXPECT_TRUE(made_tools::mean_of(squares).agrees(1, 4));
  EXPECT_EQ(distinct.size(), 20000u);
  EXPECT_EQ(value_effect(7, 3), effects[3]);
  EXPECT_NE(value_effect(8, 3), effects[3]);
}

TEST(Made, SplitIsWholeAndFollowsTheSeed) {
  TableDataset data;
  data.table = TextTable({"x"});
  for (int i = 0; i < 105; ++i) data.table.add_row({"1"});
  draw_made_split(data, 1);
  EXPECT_EQ(data.train.size(), 63u);
  EXPECT_EQ(data.valid.size(), 21u);
  EXPECT_EQ(data.test.size(), 21u);
  std::set<int64_t> rows(data.train.begin(), data.train.end());
  rows.insert(data.valid.begin(), data.valid.end());
  rows.insert(data.test.begin(), data.test.end());
  EXPECT_EQ(rows.size(), 105u);
  EXPECT_EQ(*rows.rbegin(), 104);
  const std::vector<int64_t> test = data.test;
  draw_made_split(data, 2);
  EXPECT_NE(data.test, test);
}

}  // namespace
}  // namespace l0gm
