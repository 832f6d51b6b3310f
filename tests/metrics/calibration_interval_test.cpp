#include "metrics/calibration_interval.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>

#include "make_predictions.h"
#include "miscalibrated.h"

namespace l0gm {
namespace {

using testing_tools::calibrated_model;
using testing_tools::miscalibrated;
using testing_tools::Miscalibrated;
using testing_tools::Shape;
using testing_tools::sharpened;
using testing_tools::Spread;

struct Coverage {
  double covered = 0, width = 0;
};

Coverage coverage(int64_t rows, double error, Shape shape, Spread spread, int samples) {
  Coverage out;
  RandomStream random(
      mix_key(9, rows, static_cast<uint64_t>(error * 1e6), static_cast<uint64_t>(shape) * 2 + static_cast<uint64_t>(spread)));
  for (int k = 0; k < samples; ++k) {
    const Miscalibrated sample = miscalibrated(rows, error, shape, spread, random);
    const Interval interval = calibration_interval(sample.forecasts, sample.bins, k);
    out.covered += (interval.low <= sample.truth && sample.truth <= interval.high ? 1.0 : 0.0) / samples;
    out.width += (interval.high - interval.low) / samples;
  }
  return out;
}

// Class-wise: the model `by` times sharper than the calibrated one; the expected gaps follow from the calibrated probabilities.
Coverage classwise_coverage(int64_t rows, int classes, double by, int samples, double& truth) {
  Coverage out;
  truth = 0;
  for (int k = 0; k < samples; ++k) {
    const Predictions honest = calibrated_model(rows, classes, 1.5, 5000 + k), sharp = sharpened(honest, by);
    double total = 0;
    for (int32_t c = 0; c < classes; ++c) {
      const Forecasts right = class_forecasts(honest, c), given = class_forecasts(sharp, c);
      const std::vector<uint8_t> bins = equal_width_bins(given.probability);
      std::vector<double> sums(calibration_bins);
      for (int64_t i = 0; i < rows; ++i) sums[bins[i]] += right.probability[i] - given.probability[i];
      for (const double sum : sums) total += std::abs(sum);
    }
    const double error = total / static_cast<double>(rows) / classes;
    const Interval interval = classwise_uncertainty(sharp, k, 500, 2).interval;
    out.covered += (interval.low <= error && error <= interval.high ? 1.0 : 0.0) / samples;
    out.width += (interval.high - interval.low) / samples;
    truth += error / samples;
  }
  return out;
}

// With 200 samples a true coverage of 93 % stays above 87 % but once in a thousand, and the seed is fixed.
TEST(CalibrationInterval, CoversTheTruthNearTheFloorAndAboveIt) {
  for (const Shape shape : {Shape::overconfident, Shape::mixed, Shape::one_bad_bin}) {
    for (const double error : {0.0, 0.007, 0.032}) {
      SCOPED_TRACE(testing::Message() << "shape " << static_cast<int>(shape) << ", error " << error);
      EXPECT_GE(coverage(2000, error, shape, Spread::top_class, 200).covered, 0.9);
    }
  }
}

TEST(CalibrationInterval, ClasswiseCoversTheTruth) {
  double truth = 0;
  for (const double by : {1.0, 1.1, 1.5}) EXPECT_GE(classwise_coverage(500, 3, by, 100, truth).covered, 0.88) << by;
}

// Few rows, forecasts near 0 and 1, three times too sharp: the skewed counts of extreme bins.
TEST(CalibrationInterval, CoversTheTruthOfExtremeForecasts) {
  double truth = 0;
  EXPECT_GE(classwise_coverage(100, 2, 3, 300, truth).covered, 0.9);
}

// Where the error is far above the floor the width is that of a Gaussian mean: here one bin, 0.7 forecast and 0.6 true.
TEST(CalibrationInterval, HasTheTheoreticalWidthFarAboveTheFloor) {
  Forecasts forecasts;
  for (int i = 0; i < 1000; ++i) {
    forecasts.probability.push_back(0.7);
    forecasts.outcome.push_back(i % 10 < 6);
  }
  const Interval interval = calibration_interval(forecasts, equal_width_bins(forecasts.probability), 0, 5000);
  const double deviation = std::sqrt(0.6 * 0.4 / 1000);
  EXPECT_NEAR(interval.low, 0.1 - 1.96 * deviation, 0.1 * deviation);
  EXPECT_NEAR(interval.high, 0.1 + 1.96 * deviation, 0.1 * deviation);
}

TEST(CalibrationInterval, CertainForecastsThatAreRightHaveNoError) {
  Forecasts forecasts{{1, 1, 0}, {1, 1, 0}};
  const Interval interval = calibration_interval(forecasts, equal_width_bins(forecasts.probability), 0);
  EXPECT_EQ(interval.low, 0);
  EXPECT_EQ(interval.high, 0);
}

// The classes of a two-class model mirror each other: the class-wise error is that of one class, and so is all about it. Were
// the classes drawn independently, floor_sd would be too small by sqrt(2).
TEST(CalibrationInterval, ClasswiseOfTwoClassesIsThatOfOne) {
  const Predictions p = sharpened(calibrated_model(3000, 2, 1.5, 21), 1.3);
  const Forecasts positive = class_forecasts(p, 1);
  const auto bins = equal_width_bins(positive.probability);
  ASSERT_NEAR(ece_classwise(p), ece_binary(p), 1e-12);
  const ClasswiseUncertainty both = classwise_uncertainty(p, 0, 2000, 2000);
  const NoiseFloor floor = noise_floor(positive, bins, 0, 2000);
  const Interval one = calibration_interval(positive, bins, 0, 2000);
  EXPECT_NEAR(both.floor.mean / floor.mean, 1, 0.03);
  EXPECT_NEAR(both.floor.standard_deviation / floor.standard_deviation, 1, 0.1);
  EXPECT_NEAR(both.interval.low / one.low, 1, 0.1);
  EXPECT_NEAR(both.interval.high / one.high, 1, 0.1);
}

TEST(CalibrationInterval, ClasswiseFloorIsThatOfCalibratedModelsOnBothSidesOfTheSwitch) {
  for (const int64_t rows : {1000, 25'000}) {
    const int models = rows > simulated_rows ? 4 : 60;
    double standardised = 0;
    int covered = 0;
    for (int k = 0; k < models; ++k) {
      const Predictions p = calibrated_model(rows, 4, 1.5, 300 + k);
      const ClasswiseUncertainty found = classwise_uncertainty(p, 0, 100, 200);
      standardised += (ece_classwise(p) - found.floor.mean) / found.floor.standard_deviation;
      covered += found.interval.low == 0;
    }
    EXPECT_LT(std::abs(standardised / models), 4 / std::sqrt(models)) << rows;
    EXPECT_GE(covered, models - (models > 4 ? 6 : 2)) << rows;
  }
}

TEST(CalibrationInterval, NothingLabelledIsUndefined) {
  const ClasswiseUncertainty none = classwise_uncertainty(testing_tools::binary({-1}, {0.3}), 0);
  EXPECT_TRUE(std::isnan(none.interval.low) && std::isnan(none.floor.mean));
  EXPECT_TRUE(std::isnan(calibration_interval({}, {}, 0).low));
}

// The whole table of docs, some minutes: --gtest_also_run_disabled_tests --gtest_filter='*CoverageTable'
TEST(CalibrationInterval, DISABLED_CoverageTable) {
  constexpr const char* names[] = {"overconfident", "mixed", "one bad bin"};
  for (const Spread spread : {Spread::both_sides, Spread::top_class}) {
    for (const Shape shape : {Shape::overconfident, Shape::mixed, Shape::one_bad_bin}) {
      for (const int64_t rows : {20, 50, 100, 500, 2000, 9769}) {
        std::printf("| %s | %s | %ld |", spread == Spread::top_class ? "top class" : "P(class 1)", names[static_cast<int>(shape)],
                    static_cast<long>(rows));
        for (const double error : {0.0, 0.003, 0.007, 0.015, 0.032, 0.06}) {
          const Coverage found = coverage(rows, error, shape, spread, 1000);
          std::printf(" %.1f (%.4f) |", 100 * found.covered, found.width);
        }
        std::printf("\n");
        std::fflush(stdout);
      }
    }
  }
}

TEST(CalibrationInterval, DISABLED_ClasswiseCoverageTable) {
  for (const int classes : {2, 3, 10, 30}) {
    for (const int64_t rows : {100, 500}) {
      std::printf("| %d | %ld |", classes, static_cast<long>(rows));
      for (const double by : {1.0, 1.2, 2.0}) {
        double truth = 0;
        const Coverage found = classwise_coverage(rows, classes, by, 200, truth);
        std::printf(" %.4f: %.1f (%.4f) |", truth, 100 * found.covered, found.width);
      }
      std::printf("\n");
      std::fflush(stdout);
    }
  }
}

}  // namespace
}  // namespace l0gm
