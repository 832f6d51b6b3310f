// Every measure and calibrator against values from scikit-learn, scipy and numpy (tests/reference/metrics_reference.py).
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "make_predictions.h"
#include "metrics/calibration.h"
#include "metrics/calibrator.h"
#include "metrics/scores.h"

namespace l0gm {
namespace {

using testing_tools::make_predictions;

nlohmann::json reference() {
  const std::string path = std::string(L0GM_TEST_REFERENCE_DIR) + "/metrics_reference.json";
  std::ifstream file(path);
  if (!file) throw std::runtime_error("cannot open " + path);
  return nlohmann::json::parse(file);
}

Predictions predictions_of(const nlohmann::json& entry) {
  return make_predictions(entry["labels"].get<std::vector<int32_t>>(),
                          entry["probabilities"].get<std::vector<std::vector<double>>>());
}

void expect_close(double found, const nlohmann::json& wanted, double tolerance, const std::string& what) {
  SCOPED_TRACE(what);
  if (wanted.is_null()) {
    EXPECT_TRUE(std::isnan(found)) << found;
  } else {
    EXPECT_NEAR(found, wanted.get<double>(), tolerance);
  }
}

void expect_rows(const Calibrator& calibrator, const nlohmann::json& fitted, const std::string& key, double tolerance) {
  SCOPED_TRACE(key);
  const auto& query = fitted["query"];
  for (size_t i = 0; i < query.size(); ++i) {
    auto row = query[i].get<std::vector<double>>();
    calibrator.apply_to_row(row);
    for (size_t c = 0; c < row.size(); ++c) EXPECT_NEAR(row[c], fitted[key][i][c].get<double>(), tolerance) << "row " << i;
  }
}

TEST(MetricsReference, EveryMeasureAgrees) {
  const nlohmann::json cases = reference();
  ASSERT_GE(cases.size(), 18U);
  for (const auto& entry : cases) {
    SCOPED_TRACE(entry["name"].get<std::string>());
    const Predictions p = predictions_of(entry);
    const auto& wanted = entry["expected"];
    expect_close(accuracy(p), wanted["accuracy"], 1e-12, "accuracy");
    expect_close(auc(p), wanted["auc"], 1e-12, "auc");
    expect_close(macro_f1(p), wanted["macro_f1"], 1e-12, "macro_f1");
    expect_close(nll(p), wanted["nll"], 1e-12, "nll");
    expect_close(brier(p), wanted["brier"], 1e-12, "brier");
    expect_close(ece(p), wanted["ece"], 1e-12, "ece");
    expect_close(ece_binary(p), wanted["ece_binary"], 1e-12, "ece_binary");
    expect_close(ece_adaptive(p), wanted["ece_adaptive"], 1e-12, "ece_adaptive");
    expect_close(ece_classwise(p), wanted["ece_classwise"], 1e-12, "ece_classwise");
    std::vector<int64_t> counts;
    for (const auto& row : wanted["confusion"]) counts.insert(counts.end(), row.begin(), row.end());
    EXPECT_EQ(confusion_matrix(p), counts);
  }
}

TEST(MetricsReference, CalibratorsAgree) {
  int fits = 0;
  for (const auto& entry : reference()) {
    if (!entry.contains("fitted")) continue;
    ++fits;
    SCOPED_TRACE(entry["name"].get<std::string>());
    const Predictions p = predictions_of(entry);
    const auto& wanted = entry["fitted"];

    const Calibrator temperature = fit_calibrator(p, CalibratorKind::temperature);
    EXPECT_NEAR(temperature.temperature, wanted["temperature"].get<double>(), 1e-6);
    EXPECT_NEAR(nll(temperature.apply(p)), wanted["temperature_nll"].get<double>(), 1e-10);
    expect_rows(temperature, wanted, "temperature_query", 1e-6);

    const Calibrator power = fit_calibrator(p, CalibratorKind::power);
    EXPECT_NEAR(power.scale, wanted["power_scale"].get<double>(), 1e-6);
    EXPECT_NEAR(power.exponent, wanted["power_exponent"].get<double>(), 1e-6);
    EXPECT_NEAR(nll(power.apply(p)), wanted["power_nll"].get<double>(), 1e-10);
    expect_rows(power, wanted, "power_query", 1e-6);

    expect_rows(fit_calibrator(p, CalibratorKind::isotonic), wanted, "isotonic_query", 1e-12);
  }
  EXPECT_EQ(fits, 6);
}

}  // namespace
}  // namespace l0gm
