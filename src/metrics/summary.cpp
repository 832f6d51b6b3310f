#include "metrics/summary.h"

#include <fmt/format.h>

#include <cmath>
#include <string>

#include "base/text.h"
#include "l0gm/error.h"
#include "metrics/calibration.h"
#include "metrics/scores.h"

namespace l0gm {
namespace {

constexpr uint64_t resampling_seed = 0;

nlohmann::json number(double value) { return std::isfinite(value) ? nlohmann::json(value) : nlohmann::json(nullptr); }

nlohmann::json diagram(const Forecasts& forecasts) {
  nlohmann::json out = nlohmann::json::array();
  for (const ReliabilityBin& bin : reliability(forecasts)) {
    out.push_back({{"low", bin.low},
                   {"high", bin.high},
                   {"count", bin.count},
                   {"confidence", number(bin.confidence)},
                   {"accuracy", number(bin.accuracy)}});
  }
  return out;
}

// An error with the interval and the floor without which it cannot be read.
void put_calibration_error(nlohmann::json& out, const std::string& name, const Forecasts& forecasts,
                           const std::vector<uint8_t>& bins) {
  const Interval interval = bootstrap_interval(forecasts, bins, resampling_seed);
  const NoiseFloor floor = noise_floor(forecasts, bins, resampling_seed);
  out[name] = number(calibration_error(forecasts, bins));
  out[name + "_interval"] = std::isfinite(interval.low) ? nlohmann::json{interval.low, interval.high} : nlohmann::json(nullptr);
  out[name + "_floor"] = number(floor.mean);
  out[name + "_floor_sd"] = number(floor.standard_deviation);
}

// The measures that a calibrator can change.
nlohmann::json measures(const Predictions& predictions) {
  nlohmann::json out;
  out["accuracy"] = number(accuracy(predictions));
  out["auc"] = number(auc(predictions));
  out["macro_f1"] = number(macro_f1(predictions));
  out["nll"] = number(nll(predictions));
  out["brier"] = number(brier(predictions));
  out["ece_classwise"] = number(ece_classwise(predictions));
  const Forecasts top = top_forecasts(predictions);
  put_calibration_error(out, "ece", top, equal_width_bins(top.probability));
  put_calibration_error(out, "ece_adaptive", top, equal_mass_bins(top.probability));
  out["reliability"] = diagram(top);
  const bool binary = predictions.class_count() == 2;
  const Forecasts positive = binary ? class_forecasts(predictions, 1) : Forecasts{};  // without forecasts every figure is null
  put_calibration_error(out, "ece_binary", positive, equal_width_bins(positive.probability));
  out["reliability_binary"] = binary ? diagram(positive) : nlohmann::json(nullptr);
  return out;
}

nlohmann::json confusion_rows(const Predictions& predictions) {
  const std::vector<int64_t> counts = confusion_matrix(predictions);
  const int64_t classes = predictions.class_count();
  nlohmann::json out = nlohmann::json::array();
  for (int64_t c = 0; c < classes; ++c) {
    out.push_back(std::vector<int64_t>(counts.begin() + c * classes, counts.begin() + (c + 1) * classes));
  }
  return out;
}

}  // namespace

nlohmann::json judge(const Predictions& raw, const Calibrator& calibrator) {
  check_predictions(raw);
  nlohmann::json out = measures(raw);
  const bool calibrated = calibrator.kind != CalibratorKind::none;
  const nlohmann::json scaled = calibrated ? measures(calibrator.apply(raw)) : nlohmann::json(nullptr);
  const nlohmann::json unscaled = out;
  for (const auto& [name, value] : unscaled.items()) out[name + "_scaled"] = calibrated ? scaled[name] : nlohmann::json(nullptr);
  out["rows"] = labelled_rows(raw);
  out["unlabelled_rows"] = raw.size() - labelled_rows(raw);
  out["classes"] = raw.class_count();
  out["class_names"] = raw.classes;
  out["confusion"] = confusion_rows(raw);
  out["calibrator"] = name_of_enum(calibrator.kind);
  out["calibrator_parameters"] = calibrator.to_json();
  const bool has_temperature = calibrator.kind == CalibratorKind::temperature;
  out["temperature"] = has_temperature ? number(calibrator.temperature) : nlohmann::json(nullptr);
  return out;
}

nlohmann::json judge(const Predictions& raw, const Predictions* validation_for_calibration, CalibratorKind kind) {
  if (validation_for_calibration == nullptr) return judge(raw, Calibrator{});
  check_predictions(*validation_for_calibration);
  if (validation_for_calibration->classes != raw.classes) {
    throw UserError(
        fmt::format("the validation predictions have the classes {} and the judged ones {}: a calibrator fitted on the first "
                    "says nothing about the second; write both with the same classes",
                    list_some(validation_for_calibration->classes), list_some(raw.classes)));
  }
  return judge(raw, fit_calibrator(*validation_for_calibration, kind));
}

}  // namespace l0gm
