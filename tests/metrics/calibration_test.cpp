#include "metrics/calibration.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "make_predictions.h"
#include "metrics/calibration_interval.h"

namespace l0gm {
namespace {

using testing_tools::binary;
using testing_tools::calibrated_model;
using testing_tools::sharpened;

// A sample several times over, so that both sides of `simulated_rows` can be compared.
Forecasts repeated(const Forecasts& forecasts, int times) {
  Forecasts out;
  for (int k = 0; k < times; ++k) {
    out.probability.insert(out.probability.end(), forecasts.probability.begin(), forecasts.probability.end());
    out.outcome.insert(out.outcome.end(), forecasts.outcome.begin(), forecasts.outcome.end());
  }
  return out;
}

TEST(Calibration, BinsAreOpenBelowAndClosedAbove) {
  std::vector<double> probabilities{0, 5e-324, 1};
  std::vector<uint8_t> wanted{0, 0, 14};
  for (int k = 1; k < 15; ++k) {
    const double edge = k / 15.0;
    probabilities.insert(probabilities.end(), {std::nextafter(edge, 0.0), edge, std::nextafter(edge, 1.0)});
    for (const int bin : {k - 1, k - 1, k}) wanted.push_back(static_cast<uint8_t>(bin));
  }
  EXPECT_EQ(equal_width_bins(probabilities), wanted);
  EXPECT_EQ(equal_width_bins(std::vector<double>{0.2, 0.4, 0.6, 0.8}), (std::vector<uint8_t>{2, 5, 8, 11}));
}

TEST(Calibration, EqualMassBinsAreEqualWithoutTiesAndKeepTiesTogether) {
  std::vector<double> probabilities;
  for (int i = 0; i < 150; ++i) probabilities.push_back((i * 37 % 150 + 1) / 151.0);
  std::vector<int> counts(15, 0);
  for (const uint8_t bin : equal_mass_bins(probabilities)) ++counts[bin];
  EXPECT_EQ(counts, std::vector<int>(15, 10));
  EXPECT_EQ(equal_mass_bins(std::vector<double>(40, 0.7)), std::vector<uint8_t>(40, 0));
  const std::vector<uint8_t> few = equal_mass_bins(std::vector<double>{0.9, 0.6, 0.8});
  EXPECT_EQ(std::set<uint8_t>(few.begin(), few.end()).size(), 3U);
  EXPECT_TRUE(equal_mass_bins({}).empty());
}

TEST(Calibration, KnownSmallValues) {
  // top-1: 0.9 right, 0.9 wrong, 0.6 right; P(class 1): 0.9 of 1, 0.1 of 1, 0.6 of 1.
  const Predictions p = binary({1, 1, 1}, {0.9, 0.1, 0.6});
  EXPECT_NEAR(ece(p), (std::abs(1 - 1.8) + 0.4) / 3, 1e-15);
  EXPECT_NEAR(ece_binary(p), (0.1 + 0.9 + 0.4) / 3, 1e-15);
}

TEST(Calibration, BinaryErrorNeedsTwoClasses) { EXPECT_TRUE(std::isnan(ece_binary(calibrated_model(10, 3, 1, 1)))); }

TEST(Calibration, NothingLabelledIsUndefined) {
  const Predictions p = binary({-1}, {0.3});
  for (const auto measure : {ece, ece_binary, ece_adaptive, ece_classwise}) EXPECT_TRUE(std::isnan(measure(p)));
  const Forecasts none = top_forecasts(p);
  EXPECT_TRUE(std::isnan(calibration_interval(none, {}, 0).low));
  EXPECT_TRUE(std::isnan(noise_floor(none, {}, 0).mean));
}

TEST(Calibration, ReliabilityBinsAddUpToTheError) {
  const Predictions p = sharpened(calibrated_model(2000, 3, 1.2, 2), 1.8);
  const auto bins = reliability(top_forecasts(p));
  ASSERT_EQ(bins.size(), 15U);
  double error = 0;
  int64_t rows = 0;
  for (const ReliabilityBin& bin : bins) {
    rows += bin.count;
    if (bin.count == 0) {
      EXPECT_TRUE(std::isnan(bin.confidence) && std::isnan(bin.accuracy));
      continue;
    }
    EXPECT_GT(bin.confidence, bin.low);
    EXPECT_LE(bin.confidence, bin.high);
    error += std::abs(bin.confidence - bin.accuracy) * static_cast<double>(bin.count) / 2000;
  }
  EXPECT_EQ(rows, 2000);
  EXPECT_EQ(bins[0].count, 0);  // top-1 of three classes is at least 1/3
  EXPECT_NEAR(error, ece(p), 1e-12);
}

// Over many simulated models the measured error must be distributed as the floor predicts, on both sides of the switch.
TEST(Calibration, CalibratedModelScoresItsFloor) {
  for (const int64_t rows : {2000, 30'000}) {
    SCOPED_TRACE(rows);
    const int models = rows > simulated_rows ? 30 : 60;
    double standardised = 0, squares = 0;
    for (int k = 0; k < models; ++k) {
      const Forecasts forecasts = class_forecasts(calibrated_model(rows, 2, 1.5, 100 + k), 1);
      const auto bins = equal_width_bins(forecasts.probability);
      const NoiseFloor floor = noise_floor(forecasts, bins, 0);
      const double z = (calibration_error(forecasts, bins) - floor.mean) / floor.standard_deviation;
      standardised += z;
      squares += z * z;
    }
    EXPECT_LT(std::abs(standardised / models), 4 / std::sqrt(models));
    EXPECT_GT(squares / models, 0.4);
    EXPECT_LT(squares / models, 2.0);
  }
}

TEST(Calibration, OverconfidentModelScoresFarAboveItsFloor) {
  const Forecasts forecasts = top_forecasts(sharpened(calibrated_model(3000, 2, 1.5, 9), 2));
  const auto bins = equal_width_bins(forecasts.probability);
  const NoiseFloor floor = noise_floor(forecasts, bins, 0);
  EXPECT_GT(calibration_error(forecasts, bins), floor.mean + 6 * floor.standard_deviation);
}

TEST(Calibration, FloorOfCertainForecastsIsZero) {
  const Predictions p = binary({1, 0, 1}, {1, 0, 0});
  const Forecasts forecasts = top_forecasts(p);
  const NoiseFloor floor = noise_floor(forecasts, equal_width_bins(forecasts.probability), 0);
  EXPECT_EQ(floor.mean, 0);
  EXPECT_EQ(floor.standard_deviation, 0);
}

TEST(Calibration, GaussianLimitAgreesWithSimulation) {
  const Forecasts small = top_forecasts(sharpened(calibrated_model(5000, 2, 1.5, 11), 1.6));
  const Forecasts large = repeated(small, 5);  // five times the rows: the spread shrinks by sqrt(5), the error stays
  const auto small_bins = equal_width_bins(small.probability), large_bins = equal_width_bins(large.probability);
  ASSERT_LE(small.size(), simulated_rows);
  ASSERT_GT(large.size(), simulated_rows);
  EXPECT_NEAR(calibration_error(small, small_bins), calibration_error(large, large_bins), 1e-12);
  const NoiseFloor simulated = noise_floor(small, small_bins, 0, 2000), limit = noise_floor(large, large_bins, 0);
  EXPECT_NEAR(simulated.mean / limit.mean, std::sqrt(5), 0.05);
  EXPECT_NEAR(simulated.standard_deviation / limit.standard_deviation, std::sqrt(5), 0.15);
  const Interval wide = calibration_interval(small, small_bins, 0, 2000),
                 narrow = calibration_interval(large, large_bins, 0, 2000);
  EXPECT_NEAR((wide.high - wide.low) / (narrow.high - narrow.low), std::sqrt(5), 0.2);
}

TEST(Calibration, IntervalIsReproducibleAndFollowsTheSeed) {
  const Forecasts forecasts = top_forecasts(sharpened(calibrated_model(800, 2, 1.5, 12), 2));
  const auto bins = equal_width_bins(forecasts.probability);
  const Interval a = calibration_interval(forecasts, bins, 1), b = calibration_interval(forecasts, bins, 1);
  EXPECT_EQ(a.low, b.low);
  EXPECT_EQ(a.high, b.high);
  EXPECT_NE(a.low, calibration_interval(forecasts, bins, 2).low);
  const double error = calibration_error(forecasts, bins);
  EXPECT_LT(a.low, error);
  EXPECT_GT(a.high, error);
}

// The true error of a model with a constant gap is known: P(class 1) is forecast as 0.7 and is 0.6.
TEST(Calibration, IntervalCoversTheTruth) {
  int covered = 0;
  for (int k = 0; k < 100; ++k) {
    RandomStream random(k, 77);
    Forecasts forecasts;
    for (int i = 0; i < 1000; ++i) {
      forecasts.probability.push_back(0.7);
      forecasts.outcome.push_back(random.uniform() < 0.6);
    }
    const Interval interval = calibration_interval(forecasts, equal_width_bins(forecasts.probability), k);
    covered += interval.low <= 0.1 && 0.1 <= interval.high;
  }
  EXPECT_GE(covered, 86);
  EXPECT_LT(covered, 100);
}

TEST(Calibration, Quantiles) {
  std::vector<double> values{4, 1, 3, 2};
  EXPECT_EQ(quantile(values, 0), 1);
  EXPECT_EQ(quantile(values, 1), 4);
  EXPECT_EQ(quantile(values, 0.5), 2.5);
  values.clear();
  EXPECT_TRUE(std::isnan(quantile(values, 0.5)));
}

}  // namespace
}  // namespace l0gm
