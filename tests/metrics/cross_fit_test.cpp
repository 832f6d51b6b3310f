#include <gtest/gtest.h>

#include <algorithm>

#include "make_predictions.h"
#include "metrics/calibrator.h"
#include "metrics/scores.h"
#include "metrics/summary.h"

namespace l0gm {
namespace {

using testing_tools::binary;
using testing_tools::calibrated_model;
using testing_tools::sharpened;

constexpr CalibratorKind kinds[] = {CalibratorKind::temperature, CalibratorKind::power, CalibratorKind::isotonic};

TEST(CrossFit, NoRowTakesPartInItsOwnCalibration) {
  const Predictions p = sharpened(calibrated_model(60, 3, 1.5, 1), 2);
  for (const CalibratorKind kind : kinds) {
    const Predictions before = cross_fitted(p, kind);
    EXPECT_NE(before.probabilities, p.probabilities);
    int others_changed = 0;
    for (const int64_t i : {0, 17, 42}) {
      Predictions flipped = p;
      flipped.labels[i] = (p.labels[i] + 1) % 3;
      const Predictions after = cross_fitted(flipped, kind);
      EXPECT_TRUE(std::ranges::equal(after.row(i), before.row(i))) << name_of_enum(kind) << " " << i;
      others_changed += after.probabilities != before.probabilities;
    }
    EXPECT_EQ(others_changed, 3) << name_of_enum(kind);
  }
}

TEST(CrossFit, ACalibratorHelpsWhereProbabilitiesAreWrongAndRowsAreMany) {
  const Predictions right = calibrated_model(4000, 2, 1.5, 3), wrong = sharpened(right, 3);
  for (const CalibratorKind kind : kinds) {
    EXPECT_TRUE(calibration_helps(wrong, kind)) << name_of_enum(kind);
    EXPECT_TRUE(fit_calibrator(wrong, kind).helps) << name_of_enum(kind);
    EXPECT_FALSE(fit_calibrator(calibrated_model(12, 2, 1.5, 5), kind).helps) << name_of_enum(kind);
  }
  // Of models that are right, chance finds the calibrator helpful less often than every third time.
  int found = 0;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    found += calibration_helps(calibrated_model(300, 2, 1.5, 100 + seed), CalibratorKind::temperature) ? 1 : 0;
  }
  EXPECT_LT(found, 20);
}

TEST(CrossFit, FoldsFollowFromRowNumbersAlone) {
  const Predictions p = sharpened(calibrated_model(100, 2, 1.5, 2), 2);
  Predictions reversed;
  reversed.classes = p.classes;
  for (int64_t i = p.size() - 1; i >= 0; --i) {
    reversed.rows.push_back(p.rows[i]);
    reversed.labels.push_back(p.labels[i]);
    reversed.probabilities.insert(reversed.probabilities.end(), p.row(i).begin(), p.row(i).end());
  }
  const Predictions a = cross_fitted(p, CalibratorKind::temperature), b = cross_fitted(reversed, CalibratorKind::temperature);
  for (int64_t i = 0; i < p.size(); ++i) EXPECT_NEAR(a.row(i)[1], b.row(p.size() - 1 - i)[1], 1e-7);
}

// A calibrator with many parameters flatters itself on the rows that it was fitted to; cross-fitted figures are those of new
// rows.
TEST(CrossFit, JudgesAsNewRowsDo) {
  double same = 0, crossed = 0, fresh = 0;
  constexpr int models = 40;
  for (int k = 0; k < models; ++k) {
    const Predictions valid = sharpened(calibrated_model(200, 2, 1, 100 + k), 1.5),
                      test = sharpened(calibrated_model(4000, 2, 1, 900 + k), 1.5);
    const Calibrator fitted = fit_calibrator(valid, CalibratorKind::isotonic);
    // Against the raw probabilities of the same rows, which takes out what is hard about them.
    same += (nll(fitted.apply(valid)) - nll(valid)) / models;
    crossed += (nll(cross_fitted(valid, CalibratorKind::isotonic)) - nll(valid)) / models;
    fresh += (nll(fitted.apply(test)) - nll(test)) / models;
  }
  EXPECT_LT(same, fresh - 0.02);
  EXPECT_GT(crossed, fresh - 0.01);
  EXPECT_LT(crossed, fresh + 0.04);  // fitted to four fifths of the rows
}

TEST(CrossFit, NothingToFitToLeavesRowsAsTheyAre) {
  const Predictions one = binary({1, -1}, {0.3, 0.6});
  EXPECT_EQ(cross_fitted(one, CalibratorKind::temperature).row(0)[1], 0.3);
  EXPECT_EQ(cross_fitted(one, CalibratorKind::none).probabilities, one.probabilities);
}

TEST(CrossFit, TheSummarySaysWhereCalibratedFiguresComeFrom) {
  const Predictions p = sharpened(calibrated_model(300, 2, 1.5, 3), 2);
  for (const CalibratorKind kind : kinds) {
    const Calibrator fitted = fit_calibrator(p, kind);
    const MetricsSummary stored = metrics_summary(p, fitted), crossed = metrics_summary(p, fitted, CalibratedBy::cross_fit);
    EXPECT_EQ(stored.calibrated_by.value, "stored");
    EXPECT_EQ(crossed.calibrated_by.value, "cross-fit");
    EXPECT_LT(stored.calibrated.nll, crossed.calibrated.nll);
    EXPECT_EQ(crossed.calibrated.nll, nll(cross_fitted(p, kind)));
    EXPECT_EQ(stored.raw.nll, crossed.raw.nll);
    EXPECT_EQ(stored.calibrator_parameters, crossed.calibrator_parameters);
  }
  EXPECT_TRUE(fields_to_json(metrics_summary(p, Calibrator{}))["calibrated_by"].is_null());
}

}  // namespace
}  // namespace l0gm
