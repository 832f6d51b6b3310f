#include "metrics/calibrator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "l0gm/error.h"
#include "make_predictions.h"
#include "metrics/calibration.h"
#include "metrics/scaling.h"
#include "metrics/scores.h"

namespace l0gm {
namespace {

using testing_tools::binary;
using testing_tools::calibrated_model;
using testing_tools::make_predictions;
using testing_tools::sharpened;

constexpr CalibratorKind fitted_kinds[] = {CalibratorKind::temperature, CalibratorKind::power, CalibratorKind::isotonic};

Calibrator with_temperature(double temperature) {
  Calibrator out;
  out.kind = CalibratorKind::temperature;
  out.temperature = temperature;
  return out;
}

Calibrator with_power(double scale, double exponent) {
  Calibrator out;
  out.kind = CalibratorKind::power;
  out.scale = scale;
  out.exponent = exponent;
  return out;
}

void expect_same(const Predictions& a, const Predictions& b, double tolerance) {
  ASSERT_EQ(a.probabilities.size(), b.probabilities.size());
  for (size_t k = 0; k < a.probabilities.size(); ++k) ASSERT_NEAR(a.probabilities[k], b.probabilities[k], tolerance) << k;
}

void expect_distributions(const Predictions& p) {
  for (int64_t i = 0; i < p.size(); ++i) {
    double sum = 0;
    for (const double value : p.row(i)) {
      ASSERT_TRUE(value >= 0 && value <= 1) << value;
      sum += value;
    }
    ASSERT_NEAR(sum, 1, 1e-12);
  }
}

TEST(Calibrator, NoneAndTemperatureOneAreTheIdentity) {
  const Predictions p = calibrated_model(200, 4, 2, 1);
  EXPECT_EQ(Calibrator{}.apply(p).probabilities, p.probabilities);
  expect_same(with_temperature(1).apply(p), p, 1e-14);
  expect_same(with_power(1, 1).apply(p), p, 1e-14);
}

TEST(Calibrator, PowerIsTheBinaryFormulaForTwoClassesAndTemperatureForExponentOne) {
  const Predictions p = calibrated_model(100, 2, 2, 2);
  const Predictions powered = with_power(0.7, 1.3).apply(p);
  for (int64_t i = 0; i < p.size(); ++i) {
    const double logit = std::log(p.row(i)[1] / p.row(i)[0]);
    const double wanted = std::copysign(0.7 * std::pow(std::abs(logit), 1.3), logit);
    EXPECT_NEAR(powered.row(i)[1], 1 / (1 + std::exp(-wanted)), 1e-13);
  }
  const Predictions many = calibrated_model(100, 5, 2, 3);
  expect_same(with_power(0.5, 1).apply(many), with_temperature(2).apply(many), 1e-14);
}

TEST(Calibrator, TemperatureAndPowerKeepTheOrderOfClasses) {
  const Predictions p = calibrated_model(300, 6, 2, 4);
  for (const Calibrator& calibrator : {with_temperature(3), with_temperature(0.3), with_power(2, 0.5), with_power(0.2, 2)}) {
    const Predictions after = calibrator.apply(p);
    expect_distributions(after);
    EXPECT_EQ(confusion_matrix(after), confusion_matrix(p));
  }
}

TEST(Calibrator, FindsTheTemperatureAModelWasSharpenedBy) {
  const Predictions honest = calibrated_model(20'000, 4, 1.5, 5);
  EXPECT_NEAR(fit_temperature(honest), 1, 0.03);
  EXPECT_NEAR(fit_temperature(sharpened(honest, 2.5)) / fit_temperature(honest), 2.5, 1e-9);
  EXPECT_NEAR(fit_temperature(sharpened(honest, 0.4)) / fit_temperature(honest), 0.4, 1e-9);
}

TEST(Calibrator, FindsTheExponentAModelWasDistortedBy) {
  const Predictions honest = calibrated_model(20'000, 2, 1.5, 6);
  const PowerScaling found = fit_power(with_power(1.4, 1.5).apply(honest));
  EXPECT_NEAR(found.exponent, 1 / 1.5, 0.05);
  EXPECT_NEAR(found.scale, std::pow(1.4, -1 / 1.5), 0.05);
}

TEST(Calibrator, FittingNeverRaisesTheLossOnItsOwnRows) {
  for (const int classes : {2, 5}) {
    for (const double by : {0.5, 1.0, 3.0}) {
      const Predictions p = sharpened(calibrated_model(400, classes, 1.5, 7), by);
      const double temperature = nll(fit_calibrator(p, CalibratorKind::temperature).apply(p));
      EXPECT_LE(temperature, nll(p) + 1e-12);
      EXPECT_LE(nll(fit_calibrator(p, CalibratorKind::power).apply(p)), temperature + 1e-12);
    }
  }
  const Predictions p = sharpened(calibrated_model(400, 2, 1.5, 8), 3);
  EXPECT_LT(nll(fit_calibrator(p, CalibratorKind::isotonic).apply(p)), nll(p));
}

TEST(Calibrator, EveryKindRepairsAnOverconfidentModel) {
  for (const int classes : {2, 4}) {
    const Predictions validation = sharpened(calibrated_model(4000, classes, 1.5, 10), 2);
    const Predictions test = sharpened(calibrated_model(4000, classes, 1.5, 11), 2);
    for (const CalibratorKind kind : fitted_kinds) {
      const Predictions after = fit_calibrator(validation, kind).apply(test);
      expect_distributions(after);
      EXPECT_LT(ece(after), 0.4 * ece(test)) << name_of_enum(kind);
    }
  }
}

TEST(Calibrator, DegenerateValidationStaysInsideTheBounds) {
  EXPECT_DOUBLE_EQ(fit_temperature(binary({1, 0, 1}, {0.9, 0.2, 0.7})), lowest_temperature);  // separated
  EXPECT_DOUBLE_EQ(fit_temperature(binary({1, 0}, {1, 0})), lowest_temperature);              // separated, probabilities 0 and 1
  EXPECT_DOUBLE_EQ(fit_temperature(binary({0, 1}, {1, 0})), highest_temperature);             // all wrong
  EXPECT_DOUBLE_EQ(fit_temperature(binary({0, 1}, {0.5, 0.5})), 1);                           // every temperature is equally good
  EXPECT_DOUBLE_EQ(fit_temperature(make_predictions({0, 0}, {{1}, {1}})), 1);                 // one class
  for (const Predictions& p : {binary({1, 0, 1}, {0.9, 0.2, 0.7}), binary({1, 0}, {1, 0}), binary({0, 1}, {1, 0}),
                               binary({0, 1}, {0.5, 0.5}), make_predictions({0, 0}, {{1}, {1}}), binary({1}, {0.3})}) {
    const PowerScaling power = fit_power(p);
    EXPECT_TRUE(power.scale >= lowest_power_scale && power.scale <= highest_power_scale) << power.scale;
    EXPECT_TRUE(power.exponent >= lowest_power_exponent && power.exponent <= highest_power_exponent) << power.exponent;
    for (const CalibratorKind kind : fitted_kinds) expect_distributions(fit_calibrator(p, kind).apply(p));
  }
}

TEST(Calibrator, CertainProbabilitiesAreSafe) {
  const Predictions fit_on = sharpened(calibrated_model(500, 3, 1.5, 12), 2);
  const Predictions certain = make_predictions({0, 1, 2}, {{1, 0, 0}, {0, 0, 1}, {0.5, 0.5, 0}});
  for (const CalibratorKind kind : fitted_kinds) {
    const Predictions after = fit_calibrator(fit_on, kind).apply(certain);
    expect_distributions(after);
    EXPECT_TRUE(std::isfinite(nll(after)));
  }
  EXPECT_NEAR(with_temperature(2).apply(binary({0}, {1.0})).row(0)[0], std::sqrt(1e-15), 1e-12);
}

TEST(Calibrator, UnlabelledRowsDoNotTakePartInTheFitButAreCalibrated) {
  Predictions p = sharpened(calibrated_model(300, 2, 1.5, 13), 2);
  Predictions more = p;
  more.rows.push_back(300);
  more.labels.push_back(-1);
  more.probabilities.insert(more.probabilities.end(), {0.01, 0.99});
  for (const CalibratorKind kind : fitted_kinds) {
    EXPECT_EQ(fit_calibrator(p, kind).to_json(), fit_calibrator(more, kind).to_json());
    EXPECT_NE(fit_calibrator(p, kind).apply(more).row(300)[1], 0.99);
  }
}

TEST(Calibrator, FittingWithoutLabelsIsTheUsersError) {
  const Predictions p = binary({-1, -1}, {0.2, 0.3});
  for (const CalibratorKind kind : fitted_kinds) EXPECT_THROW(fit_calibrator(p, kind), UserError);
  EXPECT_EQ(fit_calibrator(p, CalibratorKind::none).kind, CalibratorKind::none);
}

TEST(Calibrator, JsonKeepsEveryBit) {
  for (const int classes : {2, 3}) {
    const Predictions p = sharpened(calibrated_model(300, classes, 1.5, 14), 2);
    for (const CalibratorKind kind :
         {CalibratorKind::temperature, CalibratorKind::power, CalibratorKind::isotonic, CalibratorKind::none}) {
      const Calibrator fitted = fit_calibrator(p, kind);
      const Calibrator back = Calibrator::from_json(nlohmann::json::parse(fitted.to_json().dump()));
      EXPECT_EQ(back.kind, kind);
      EXPECT_EQ(back.apply(p).probabilities, fitted.apply(p).probabilities);
    }
  }
}

TEST(Calibrator, RefusesHostileJson) {
  for (const char* text : {
           R"(null)",
           R"([])",
           R"({})",
           R"({"kind": 3})",
           R"({"kind": "Temperature"})",
           R"({"kind": "temperature"})",
           R"({"kind": "temperature", "temperature": "1"})",
           R"({"kind": "temperature", "temperature": 0})",
           R"({"kind": "temperature", "temperature": -1})",
           R"({"kind": "temperature", "temperature": null})",
           R"({"kind": "temperature", "temperature": 1, "helps": "yes"})",
           R"({"kind": "power", "scale": 1})",
           R"({"kind": "power", "scale": 1, "exponent": 0})",
           R"({"kind": "isotonic"})",
           R"({"kind": "isotonic", "curves": []})",
           R"({"kind": "isotonic", "curves": [3]})",
           R"({"kind": "isotonic", "curves": [{"logits": [], "probabilities": []}]})",
           R"({"kind": "isotonic", "curves": [{"logits": [1], "probabilities": [0.1, 0.2]}]})",
           R"({"kind": "isotonic", "curves": [{"logits": [1, 1], "probabilities": [0.1, 0.2]}]})",
           R"({"kind": "isotonic", "curves": [{"logits": [1, 2], "probabilities": [0.3, 0.2]}]})",
           R"({"kind": "isotonic", "curves": [{"logits": [1, 2], "probabilities": [0.0, 0.2]}]})",
           R"({"kind": "isotonic", "curves": [{"logits": [1, "2"], "probabilities": [0.1, 0.2]}]})",
       }) {
    EXPECT_THROW(Calibrator::from_json(nlohmann::json::parse(text)), UserError) << text;
  }
  nlohmann::json infinite{{"kind", "temperature"}, {"temperature", std::numeric_limits<double>::infinity()}};
  EXPECT_THROW(Calibrator::from_json(infinite), UserError);
}

TEST(Calibrator, CurvesOfAnotherNumberOfClassesAreRefused) {
  const Calibrator three = fit_calibrator(calibrated_model(50, 3, 1, 15), CalibratorKind::isotonic);
  EXPECT_THROW(three.apply(calibrated_model(5, 2, 1, 15)), UserError);
  EXPECT_THROW(three.apply(calibrated_model(5, 4, 1, 15)), UserError);
}

TEST(Isotonic, IsMonotoneAndInsideTheOpenInterval) {
  RandomStream random(16);
  std::vector<std::pair<double, bool>> points;
  for (int i = 0; i < 400; ++i) points.emplace_back(std::round(random.normal() * 20) / 10, random.uniform() < 0.5);
  const IsotonicCurve curve = fit_isotonic(points);
  EXPECT_TRUE(std::is_sorted(curve.probabilities.begin(), curve.probabilities.end()));
  double before = 0;
  for (double logit = -40; logit < 40; logit += 0.01) {
    const double value = curve.at(logit);
    ASSERT_GE(value, before);
    ASSERT_GE(value, 1.0 / 402);
    ASSERT_LE(value, 401.0 / 402);
    before = value;
  }
}

TEST(Isotonic, PoolsViolatorsAndInterpolates) {
  const IsotonicCurve curve = fit_isotonic({{0, false}, {1, true}, {2, false}, {3, true}});
  EXPECT_EQ(curve.logits, (std::vector<double>{0, 1, 2, 3}));
  EXPECT_EQ(curve.probabilities, (std::vector<double>{1.0 / 6, 0.5, 0.5, 5.0 / 6}));
  EXPECT_EQ(curve.at(1.5), 0.5);
  EXPECT_DOUBLE_EQ(curve.at(0.5), (1.0 / 6 + 0.5) / 2);
  EXPECT_EQ(curve.at(-5), 1.0 / 6);
  EXPECT_EQ(curve.at(9), 5.0 / 6);
  EXPECT_EQ(fit_isotonic({{2, true}}).probabilities, (std::vector<double>{1 - 1.0 / 3}));
}

}  // namespace
}  // namespace l0gm
