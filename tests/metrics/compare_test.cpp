#include "metrics/compare.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "l0gm/error.h"
#include "make_predictions.h"

namespace l0gm {
namespace {

using testing_tools::binary;
using testing_tools::calibrated_model;
using testing_tools::sharpened;

TEST(Compare, MeanIsTheDifferenceOfTheMeasures) {
  const Predictions first = sharpened(calibrated_model(700, 3, 1.5, 1), 2);
  const Predictions second = calibrated_model(700, 3, 1.5, 1);
  EXPECT_NEAR(compare(first, second, RowMetric::nll).mean, nll(first) - nll(second), 1e-12);
  EXPECT_NEAR(compare(first, second, RowMetric::brier).mean, brier(first) - brier(second), 1e-12);
  EXPECT_NEAR(compare(first, second, RowMetric::accuracy).mean, accuracy(first) - accuracy(second), 1e-12);
}

TEST(Compare, DetectsAClearDifferenceAndNoDifference) {
  const Predictions honest = calibrated_model(2000, 2, 1.5, 2);
  const PairedDifference worse = compare(sharpened(honest, 3), honest, RowMetric::nll);
  EXPECT_GT(worse.low, 0);
  EXPECT_LT(worse.low, worse.mean);
  EXPECT_GT(worse.high, worse.mean);
  const PairedDifference same = compare(honest, honest, RowMetric::nll);
  EXPECT_EQ(same.mean, 0);
  EXPECT_EQ(same.low, 0);
  EXPECT_EQ(same.high, 0);
  EXPECT_EQ(same.rows, 2000);
}

TEST(Compare, MatchesRowsByNumber) {
  const Predictions first = binary({0, 1, 1}, {0.2, 0.7, 0.4});
  Predictions second = binary({1, 0, 1}, {0.6, 0.1, 0.9});
  second.rows = {2, 0, 1};
  const std::vector<double> found = row_differences(first, second, RowMetric::brier);
  ASSERT_EQ(found.size(), 3U);
  EXPECT_NEAR(found[0], 0.04 - 0.01, 1e-15);
  EXPECT_NEAR(found[1], 0.09 - 0.01, 1e-15);
  EXPECT_NEAR(found[2], 0.36 - 0.16, 1e-15);
}

TEST(Compare, RefusesWhatIsNotPaired) {
  const Predictions first = binary({0, 1}, {0.2, 0.7});
  Predictions other = first;
  other.classes[0] = "x";
  EXPECT_THROW(compare(first, other, RowMetric::nll), UserError);
  EXPECT_THROW(compare(first, binary({0}, {0.2}), RowMetric::nll), UserError);
  other = first;
  other.rows = {0, 5};
  EXPECT_THROW(compare(first, other, RowMetric::nll), UserError);
  other = first;
  other.labels = {0, -1};
  EXPECT_THROW(compare(first, other, RowMetric::nll), UserError);
}

TEST(Compare, UnlabelledRowsAreLeftOut) {
  const Predictions first = binary({0, -1}, {0.2, 0.7}), second = binary({0, -1}, {0.3, 0.1});
  EXPECT_EQ(row_differences(first, second, RowMetric::nll).size(), 1U);
  const Predictions unlabelled = binary({-1}, {0.2});
  const PairedDifference nothing = compare(unlabelled, unlabelled, RowMetric::nll);
  EXPECT_TRUE(std::isnan(nothing.mean) && std::isnan(nothing.low) && std::isnan(nothing.high));
}

TEST(Compare, IntervalHasTheTheoreticalWidth) {
  for (const size_t rows : {2000U, 40'000U}) {  // resampled row by row, and from the limit
    RandomStream random(3);
    std::vector<std::vector<double>> runs(1);
    for (size_t i = 0; i < rows; ++i) runs[0].push_back(0.5 + random.normal());
    const PairedDifference found = paired_bootstrap(runs, 4);
    EXPECT_NEAR((found.high - found.low) * std::sqrt(rows), 2 * 1.96, 0.25);
    EXPECT_NEAR((found.high + found.low) / 2, found.mean, 0.3 / std::sqrt(rows));
  }
}

// Differences between runs widen the interval: from rows alone the difference would look certain.
TEST(Compare, SpreadOverRunsCounts) {
  const std::vector<std::vector<double>> runs{std::vector<double>(500, 0.1), std::vector<double>(500, -0.05),
                                              std::vector<double>(500, 0.02)};
  const PairedDifference found = paired_bootstrap(runs, 5);
  EXPECT_NEAR(found.mean, 0.07 / 3, 1e-12);
  EXPECT_NEAR(found.low, -0.05, 1e-12);
  EXPECT_NEAR(found.high, 0.1, 1e-12);
  EXPECT_EQ(found.rows, 1500);
}

}  // namespace
}  // namespace l0gm
