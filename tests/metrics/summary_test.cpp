#include "metrics/summary.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "l0gm/error.h"
#include "make_predictions.h"
#include "metrics/calibration.h"
#include "metrics/scores.h"

namespace l0gm {
namespace {

using testing_tools::binary;
using testing_tools::calibrated_model;
using testing_tools::make_predictions;
using testing_tools::sharpened;

template <class... Arguments>
nlohmann::json summary(const Arguments&... arguments) {
  return fields_to_json(metrics_summary(arguments...));
}

constexpr const char* measures[] = {"accuracy",
                                    "auc",
                                    "macro_f1",
                                    "nll",
                                    "brier",
                                    "ece",
                                    "ece_binary",
                                    "ece_adaptive",
                                    "ece_classwise",
                                    "ece_classwise_interval",
                                    "ece_classwise_floor",
                                    "ece_classwise_floor_sd",
                                    "ece_interval",
                                    "ece_floor",
                                    "ece_floor_sd",
                                    "ece_binary_floor",
                                    "ece_binary_floor_sd"};

TEST(Summary, HasEveryKeyRawAndCalibratedSideBySide) {
  const Predictions test = sharpened(calibrated_model(1500, 2, 1.5, 1), 2),
                    validation = sharpened(calibrated_model(1500, 2, 1.5, 2), 2);
  const nlohmann::json out = summary(test, &validation, CalibratorKind::temperature);
  for (const std::string key : measures) {
    EXPECT_FALSE(out.at(key).is_null()) << key;
    EXPECT_FALSE(out.at(key + "_scaled").is_null()) << key;
  }
  EXPECT_EQ(out["rows"], 1500);
  EXPECT_EQ(out["classes"], 2);
  EXPECT_EQ(out["calibrator"], "temperature");
  EXPECT_NEAR(out["temperature"].get<double>(), 2, 0.3);
  EXPECT_DOUBLE_EQ(out["nll"].get<double>(), nll(test));
  EXPECT_DOUBLE_EQ(out["ece"].get<double>(), ece(test));
  EXPECT_DOUBLE_EQ(out["ece_binary"].get<double>(), ece_binary(test));
  EXPECT_DOUBLE_EQ(out["ece_adaptive"].get<double>(), ece_adaptive(test));
  EXPECT_LT(out["ece_scaled"].get<double>(), out["ece"].get<double>());
  EXPECT_LT(out["nll_scaled"].get<double>(), out["nll"].get<double>());
  EXPECT_EQ(out["accuracy_scaled"], out["accuracy"]);
  EXPECT_LT(out["ece_interval"][0].get<double>(), out["ece_interval"][1].get<double>());
  EXPECT_EQ(out["reliability"].size(), 15U);
  EXPECT_EQ(out["reliability"][0]["count"], 0);
  EXPECT_TRUE(out["reliability"][0]["accuracy"].is_null());
  EXPECT_EQ(out["confusion"][0][0].get<int64_t>() + out["confusion"][1][1].get<int64_t>(),
            std::llround(out["accuracy"].get<double>() * 1500));
  EXPECT_EQ(out, summary(test, &validation, CalibratorKind::temperature));  // a fixed seed
}

TEST(Summary, FewRowsPerClassGiveNoLowerLimit) {
  Predictions sharp = calibrated_model(100, 10, 1.5, 8), enough = calibrated_model(1000, 10, 1.5, 8);
  for (Predictions* predictions : {&sharp, &enough}) {  // confident and wrong: the error is beyond doubt
    for (size_t i = 0; i < predictions->labels.size(); ++i) {
      for (size_t c = 0; c < 10; ++c) predictions->probabilities[i * 10 + c] = c == 0 ? 0.91 : 0.01;
    }
  }
  const auto low = [](const Predictions& p) { return summary(p, Calibrator{})["ece_classwise_interval"][0].get<double>(); };
  EXPECT_EQ(low(sharp), 0);
  EXPECT_GT(low(enough), 0.05);
}

TEST(Summary, WithoutCalibrationTheScaledFiguresAreNull) {
  const Predictions test = calibrated_model(100, 2, 1.5, 3);
  for (const nlohmann::json& out :
       {summary(test, nullptr, CalibratorKind::temperature), summary(test, &test, CalibratorKind::none)}) {
    EXPECT_EQ(out["calibrator"], "none");
    EXPECT_TRUE(out.at("temperature").is_null());
    for (const std::string key : measures) EXPECT_TRUE(out.at(key + "_scaled").is_null()) << key;
  }
}

TEST(Summary, TheStoredCalibratorGivesTheSameFiguresAsFitting) {
  const Predictions test = sharpened(calibrated_model(300, 3, 1.5, 4), 2),
                    validation = sharpened(calibrated_model(300, 3, 1.5, 5), 2);
  for (const CalibratorKind kind : {CalibratorKind::power, CalibratorKind::isotonic}) {
    const nlohmann::json fitted = summary(test, &validation, kind);
    EXPECT_TRUE(fitted["temperature"].is_null());
    EXPECT_EQ(fitted, summary(test, Calibrator::from_json(fitted["calibrator_parameters"])));
  }
}

TEST(Summary, UndefinedIsNullAndTheTextIsValidJson) {
  const nlohmann::json several = summary(calibrated_model(50, 3, 1.5, 6), nullptr, CalibratorKind::none);
  for (const char* key : {"ece_binary", "ece_binary_interval", "ece_binary_floor", "reliability_binary"})
    EXPECT_TRUE(several.at(key).is_null());
  EXPECT_TRUE(summary(binary({1, 1}, {0.2, 0.9}), nullptr, CalibratorKind::none)["auc"].is_null());
  const nlohmann::json unlabelled = summary(binary({-1, -1}, {0.2, 0.9}), nullptr, CalibratorKind::none);
  EXPECT_EQ(unlabelled["rows"], 0);
  EXPECT_EQ(unlabelled["unlabelled_rows"], 2);
  for (const std::string key : measures) EXPECT_TRUE(unlabelled.at(key).is_null()) << key;
  EXPECT_EQ(nlohmann::json::parse(unlabelled.dump()), unlabelled);
}

TEST(Summary, RefusesValidationOfOtherClassesAndBrokenInput) {
  const Predictions test = calibrated_model(20, 3, 1.5, 7), other = calibrated_model(20, 2, 1.5, 7);
  EXPECT_THROW(metrics_summary(test, &other, CalibratorKind::temperature), UserError);
  Predictions broken = test;
  broken.probabilities[4] = std::nan("");
  EXPECT_THROW(metrics_summary(broken, nullptr, CalibratorKind::none), std::invalid_argument);
}

}  // namespace
}  // namespace l0gm
