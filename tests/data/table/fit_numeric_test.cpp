#include "data/table/fit_numeric.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "l0gm/error.h"

namespace l0gm {
namespace {

TEST(QuantileEdges, FewValuesAreEdgesThemselves) {
  const std::vector<double> values = {1, 1, 1, 2, 5, 5};
  EXPECT_EQ(quantile_edges(values, 48), (std::vector<double>{1, 2, 5}));
  EXPECT_EQ(quantile_edges(values, 2), (std::vector<double>{1, 2, 5}));
}

TEST(QuantileEdges, BinsHoldEquallyMany) {
  std::vector<double> values;
  for (int i = 0; i <= 1000; ++i) values.push_back(i * i);
  const auto edges = quantile_edges(values, 10);
  ASSERT_EQ(edges.size(), 11U);
  for (int k = 0; k <= 10; ++k) EXPECT_EQ(edges[static_cast<size_t>(k)], 1e4 * k * k);
}

TEST(QuantileEdges, DuplicatesAreMerged) {
  std::vector<double> values;
  for (int i = 0; i < 100; ++i) values.push_back(i < 20 ? 1 : i < 40 ? 2 : i);
  const auto edges = quantile_edges(values, 10);
  EXPECT_TRUE(std::adjacent_find(edges.begin(), edges.end(), std::greater_equal<>()) == edges.end());
  EXPECT_EQ(edges.size(), 9U);  // 1, 1, 2, 2, then one for each further tenth
  EXPECT_EQ(edges.front(), 1);
  EXPECT_EQ(edges.back(), 99);
}

TEST(QuantileEdges, AFrequentValueHasABinOfItsOwn) {
  std::vector<double> values(920, 0.0);
  for (int i = 0; i < 80; ++i) values.push_back(114 + i * 10);
  const auto edges = quantile_edges(values, 8);
  ASSERT_EQ(edges.size(), 10U);
  EXPECT_EQ(edges[0], 0);
  EXPECT_EQ(edges[1], 114);
  EXPECT_EQ(edges[9], 904);
  // In the middle too.
  values.assign(500, 40.0);
  for (int i = 0; i < 500; ++i) values.push_back(i < 250 ? i * 0.1 : 41 + i * 0.1);
  std::sort(values.begin(), values.end());
  const auto middle = quantile_edges(values, 8);
  const auto at = std::find(middle.begin(), middle.end(), 40.0);
  ASSERT_NE(at, middle.end());
  EXPECT_EQ(*(at + 1), 66.0);
  EXPECT_LE(middle.size(), 11U);
}

TEST(QuantileEdges, OneBinAndNothingButFrequentValues) {
  const std::vector<double> values = {1, 2, 3};
  EXPECT_EQ(quantile_edges(values, 1), (std::vector<double>{1, 2, 3}));
  const std::vector<double> five = {1, 2, 3, 4, 5};
  EXPECT_EQ(quantile_edges(five, 1), (std::vector<double>{1, 5}));
}

std::vector<double> exact(std::vector<double> values, ExactValues mode = ExactValues::automatic, int64_t min_count = 1,
                          int64_t most = 100000) {
  std::sort(values.begin(), values.end());
  return exact_values("x", values, mode, min_count, most);
}

std::vector<double> repeated(int distinct, int times) {
  std::vector<double> values;
  for (int i = 0; i < distinct * times; ++i) values.push_back(i % distinct);
  return values;
}

TEST(ExactValues, AllWhenFewAndOften) {
  EXPECT_EQ(exact(repeated(1000, 10)).size(), 1000U);
  EXPECT_TRUE(exact(repeated(1001, 10)).empty());                                 // one too many
  EXPECT_TRUE(exact(repeated(1000, 9)).empty());                                  // too seldom
  EXPECT_TRUE(exact(repeated(300, 20), ExactValues::automatic, 1, 299).empty());  // more than a vocabulary may have
  EXPECT_TRUE(exact(repeated(300, 20), ExactValues::off).empty());
}

TEST(ExactValues, ByFallingCountThenAscending) {
  std::vector<double> values = repeated(3, 20);  // 0, 1, 2
  values.insert(values.end(), 30, 7.5);
  values.insert(values.end(), 2, -1.0);
  EXPECT_EQ(exact(values), (std::vector<double>{7.5, 0, 1, 2, -1}));
  EXPECT_EQ(exact(values, ExactValues::automatic, 3), (std::vector<double>{7.5, 0, 1, 2}));
  EXPECT_EQ(exact(values, ExactValues::on, 21), (std::vector<double>{7.5}));
}

TEST(ExactValues, SpikesAlone) {
  std::vector<double> values;
  for (int i = 0; i < 9700; ++i) values.push_back(1 + i * 0.25);
  values.insert(values.end(), 200, 0.0);
  values.insert(values.end(), 100, -9.0);
  EXPECT_EQ(exact(values), (std::vector<double>{0, -9}));
  EXPECT_EQ(exact(values, ExactValues::automatic, 101), (std::vector<double>{0}));
  values.push_back(0.125);  // now 100 rows are less than a hundredth
  EXPECT_EQ(exact(values), (std::vector<double>{0}));
}

TEST(ExactValues, AHundredthOfAShortTableIsNoSpike) {
  EXPECT_TRUE(exact(repeated(50, 1)).empty());
  std::vector<double> values = repeated(50, 1);
  values.insert(values.end(), 9, 0.0);
  EXPECT_EQ(exact(values), (std::vector<double>{0}));  // ten rows
}

TEST(ExactValues, TooManyAreRefusedWhenAskedFor) {
  EXPECT_EQ(exact(repeated(5, 1), ExactValues::on, 1, 5).size(), 5U);
  EXPECT_THROW(exact(repeated(6, 1), ExactValues::on, 1, 5), UserError);
}

}  // namespace
}  // namespace l0gm
