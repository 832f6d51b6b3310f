#include "metrics/compare.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

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
  const std::vector<double> found = row_differences(first, second, RowMetric::brier).values;
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
  EXPECT_EQ(row_differences(first, second, RowMetric::nll).rows, std::vector<int64_t>{0});
  const Predictions unlabelled = binary({-1}, {0.2});
  const PairedDifference nothing = compare(unlabelled, unlabelled, RowMetric::nll);
  EXPECT_TRUE(std::isnan(nothing.mean) && std::isnan(nothing.low) && std::isnan(nothing.high));
}

RowDifferences numbered(std::vector<double> values) {
  RowDifferences out;
  for (size_t i = 0; i < values.size(); ++i) out.rows.push_back(static_cast<int64_t>(i));
  out.values = std::move(values);
  return out;
}

TEST(Compare, IntervalHasTheTheoreticalWidth) {
  for (const size_t rows : {2000U, 40'000U}) {  // resampled row by row, and from the limit
    RandomStream random(3);
    std::vector<double> values;
    for (size_t i = 0; i < rows; ++i) values.push_back(0.5 + random.normal());
    const RowDifferences run = numbered(values);
    const PairedDifference found = paired_bootstrap({&run, 1}, 4);
    EXPECT_NEAR((found.high - found.low) * std::sqrt(rows), 2 * 1.96, 0.25);
    EXPECT_NEAR((found.high + found.low) / 2, found.mean, 0.3 / std::sqrt(rows));
  }
}

// Differences between runs widen the interval: from rows alone the difference would look certain. Rows say nothing here, so it
// is Student's interval for the mean of three numbers.
TEST(Compare, SpreadOverRunsCounts) {
  const std::vector<RowDifferences> runs{numbered(std::vector<double>(500, 0.1)), numbered(std::vector<double>(500, -0.05)),
                                         numbered(std::vector<double>(500, 0.02))};
  const PairedDifference found = paired_bootstrap(runs, 5, 20'000);
  EXPECT_NEAR(found.mean, 0.07 / 3, 1e-12);
  const double deviation = std::sqrt((0.1 * 0.1 + 0.05 * 0.05 + 0.02 * 0.02 - 0.07 * 0.07 / 3) / 2 / 3);
  EXPECT_NEAR(found.low, found.mean - 4.303 * deviation, 0.3 * deviation);
  EXPECT_NEAR(found.high, found.mean + 4.303 * deviation, 0.3 * deviation);
  EXPECT_EQ(found.rows, 500);
  EXPECT_EQ(found.runs, 3);
}

TEST(Compare, RunsAreMatchedByRowNumber) {
  const std::vector<RowDifferences> ordered{{{4, 7, 9}, {1, 2, 6}}, {{4, 7, 9}, {2, 2, 8}}};
  const std::vector<RowDifferences> mixed{{{4, 7, 9}, {1, 2, 6}}, {{9, 4, 7}, {8, 2, 2}}};
  const PairedDifference a = paired_bootstrap(ordered, 1), b = paired_bootstrap(mixed, 1);
  EXPECT_EQ(a.low, b.low);
  EXPECT_EQ(a.high, b.high);
  EXPECT_EQ(a.mean, 3.5);
}

TEST(Compare, RunsWithOtherRowsAreRefused) {
  const std::vector<RowDifferences> other{{{4, 7}, {1, 2}}, {{4, 8}, {2, 2}}}, fewer{{{4, 7}, {1, 2}}, {{4}, {2}}};
  EXPECT_THROW(paired_bootstrap(other, 1), UserError);
  EXPECT_THROW(paired_bootstrap(fewer, 1), UserError);
  EXPECT_TRUE(std::isnan(paired_bootstrap({}, 1).mean));
}

// What is hard about a row is shared by all runs; a run has an effect of its own, and the rest is noise. With one run the truth
// is the difference of the two models as trained.
double coverage(int runs, double row_effect, double run_effect, double noise, int samples) {
  constexpr int rows = 300;
  int covered = 0;
  for (int k = 0; k < samples; ++k) {
    RandomStream random(mix_key(31, k, runs, static_cast<uint64_t>(1000 * run_effect)));
    std::vector<double> shared(rows);
    for (double& value : shared) value = row_effect * random.normal();
    std::vector<RowDifferences> drawn;
    double effect = 0;
    for (int r = 0; r < runs; ++r) {
      effect = run_effect * random.normal();
      std::vector<double> values;
      for (const double value : shared) values.push_back(effect + value + noise * random.normal());
      drawn.push_back(numbered(std::move(values)));
    }
    const double truth = runs == 1 ? effect : 0;
    const PairedDifference found = paired_bootstrap(drawn, k, 300);
    covered += found.low <= truth && truth <= found.high;
  }
  return static_cast<double>(covered) / samples;
}

// 300 samples: three standard errors are 3.8 points.
TEST(Compare, IntervalCoversWithSharedRows) {
  for (const int runs : {1, 3, 10}) {
    EXPECT_GE(coverage(runs, 1, 0, 0.3, 300), 0.91) << runs;
    EXPECT_GE(coverage(runs, 1, 0.1, 0.3, 300), 0.91) << runs;
  }
}

// The table of docs: --gtest_also_run_disabled_tests --gtest_filter='Compare.*CoverageTable'
TEST(Compare, DISABLED_CoverageTable) {
  for (const int runs : {1, 2, 3, 5, 10}) {
    std::printf("| %d |", runs);
    for (const double run_effect : {0.0, 0.03, 0.06, 0.1, 0.3})
      std::printf(" %.1f |", 100 * coverage(runs, 1, run_effect, 0.3, 1000));
    std::printf(" %.1f | %.1f |\n", 100 * coverage(runs, 0, 0, 1, 1000), 100 * coverage(runs, 0.3, 0.06, 1, 1000));
    std::fflush(stdout);
  }
}

}  // namespace
}  // namespace l0gm
