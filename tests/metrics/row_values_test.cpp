#include "metrics/row_values.h"

#include <gtest/gtest.h>

#include <cmath>

#include "make_predictions.h"
#include "metrics/calibration.h"
#include "metrics/scores.h"

namespace l0gm {
namespace {

using testing_tools::binary;
using testing_tools::calibrated_model;
using testing_tools::sharpened;

constexpr Measure all[] = {Measure::accuracy, Measure::auc, Measure::nll, Measure::brier, Measure::ece};

double mean_of_labelled(const Predictions& predictions, const std::vector<double>& values) {
  double sum = 0;
  int64_t count = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    EXPECT_EQ(std::isnan(values[i]), predictions.labels[i] < 0) << i;
    if (predictions.labels[i] < 0) continue;
    sum += values[i];
    ++count;
  }
  return sum / static_cast<double>(count);
}

TEST(RowValues, TheirMeanIsTheMeasure) {
  for (const int classes : {2, 4}) {
    Predictions predictions = sharpened(calibrated_model(600, classes, 1.3, 5), 1.7);
    for (size_t i = 0; i < predictions.labels.size(); i += 13) predictions.labels[i] = -1;
    for (const Measure measure : all) {
      const std::vector<double> values = row_values(predictions, measure);
      ASSERT_EQ(values.size(), 600U);
      EXPECT_NEAR(mean_of_labelled(predictions, values), measure_of(predictions, measure), 1e-12)
          << name_of_enum(measure) << classes;
    }
  }
}

TEST(RowValues, MeasuresAreThoseOfEval) {
  const Predictions two = sharpened(calibrated_model(300, 2, 1, 1), 2), three = sharpened(calibrated_model(300, 3, 1, 1), 2);
  EXPECT_EQ(measure_of(two, Measure::ece), ece_binary(two));
  EXPECT_EQ(measure_of(three, Measure::ece), ece(three));
  EXPECT_EQ(measure_of(three, Measure::auc), auc(three));
  EXPECT_EQ(measure_of(two, Measure::nll), nll(two));
  EXPECT_TRUE(larger_is_better(Measure::auc) && larger_is_better(Measure::accuracy));
  EXPECT_FALSE(larger_is_better(Measure::nll) || larger_is_better(Measure::ece) || larger_is_better(Measure::brier));
}

// By hand: positives .8 and .4, negatives .4 and .1; the area is (1 + 1 + .5 + 1) / 4.
TEST(RowValues, ComponentsOfTheArea) {
  const std::vector<double> values = row_values(binary({1, 0, 1, 0}, {0.8, 0.4, 0.4, 0.1}), Measure::auc);
  const double area = 0.875;
  EXPECT_NEAR(values[0], area + 2 * (1 - area), 1e-15);
  EXPECT_NEAR(values[1], area + 2 * (0.75 - area), 1e-15);
  EXPECT_NEAR(values[2], area + 2 * (0.75 - area), 1e-15);
  EXPECT_NEAR(values[3], area + 2 * (1 - area), 1e-15);
}

// The variance that the components give is what samples show.
TEST(RowValues, VarianceOfTheAreaIsThatOfSamples) {
  double sum = 0, squares = 0, claimed = 0;
  constexpr int samples = 400;
  for (uint64_t k = 0; k < samples; ++k) {
    const Predictions drawn = calibrated_model(400, 2, 1.2, k);
    const std::vector<double> values = row_values(drawn, Measure::auc);
    const double mean = measure_of(drawn, Measure::auc);
    double spread = 0;
    for (const double value : values) spread += (value - mean) * (value - mean);
    claimed += spread / 399 / 400 / samples;
    sum += mean / samples;
    squares += mean * mean / samples;
  }
  EXPECT_NEAR(claimed / (squares - sum * sum), 1, 0.22);  // three standard errors of a variance out of 400 samples
}

TEST(RowValues, UndefinedWhereThereIsOneClass) {
  for (const double value : row_values(binary({1, 1}, {0.8, 0.4}), Measure::auc)) EXPECT_TRUE(std::isnan(value));
}

}  // namespace
}  // namespace l0gm
