#include "metrics/calibrator.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "base/random.h"
#include "base/text.h"
#include "l0gm/error.h"
#include "metrics/scaling.h"
#include "metrics/scores.h"

namespace l0gm {
namespace {

constexpr uint64_t fold_seed = 5;
constexpr double fewest_rows_to_judge = 100;

double safe_log(double p) { return std::log(std::max(p, smallest_probability)); }

double logit_of(std::span<const double> row, size_t of_class) {
  const double other = row.size() == 2 ? row[1 - of_class] : 1 - row[of_class];
  return safe_log(row[of_class]) - safe_log(other);
}

size_t curve_count(size_t classes) { return classes == 2 ? 1 : classes; }

void softmax_of_depths(std::span<double> depths) {
  double total = 0;
  for (double& depth : depths) {
    depth = std::exp(-depth);  // the top class has depth 0: the total is at least 1
    total += depth;
  }
  for (double& weight : depths) weight /= total;
}

void apply_power(std::span<double> row, double scale, double exponent) {
  const double top = safe_log(row[top_class(row)]);
  for (double& p : row) p = scale * std::pow(std::max(0.0, top - safe_log(p)), exponent);
  softmax_of_depths(row);
}

void apply_curves(std::span<double> row, const std::vector<IsotonicCurve>& curves) {
  if (curves.size() != curve_count(row.size())) {
    throw UserError(fmt::format("the isotonic calibrator has {} curves and cannot be used with {} classes; fit it again",
                                curves.size(), row.size()));
  }
  if (row.size() == 2) {
    row[1] = curves[0].at(logit_of(row, 1));
    row[0] = 1 - row[1];
    return;
  }
  double total = 0;
  for (size_t c = 0; c < row.size(); ++c) {
    row[c] = curves[c].at(logit_of(row, c));
    total += row[c];
  }
  for (double& p : row) p /= total;
}

std::vector<IsotonicCurve> fit_curves(const Predictions& validation) {
  const size_t classes = validation.classes.size();
  std::vector<IsotonicCurve> curves;
  for (size_t c = classes == 2 ? 1 : 0; c < classes; ++c) {
    std::vector<std::pair<double, bool>> points;
    for (int64_t i = 0; i < validation.size(); ++i) {
      const int32_t label = validation.labels[i];
      if (label >= 0) points.emplace_back(logit_of(validation.row(i), c), label == static_cast<int32_t>(c));
    }
    curves.push_back(fit_isotonic(std::move(points)));
  }
  return curves;
}

[[noreturn]] void refuse(const std::string& what) {
  throw UserError("the stored calibrator cannot be used: " + what + "; fit it again, or set the calibrator to 'none'");
}

double positive_number(const nlohmann::json& json, const std::string& key) {
  if (!json.contains(key) || !json[key].is_number()) refuse("'" + key + "' is missing or not a number");
  const double value = json[key].get<double>();
  if (!(value > 0 && std::isfinite(value)))
    refuse(fmt::format("'{}' is {}, wanted a finite number above 0", key, shortest(value)));
  return value;
}

std::vector<double> numbers(const nlohmann::json& json, const std::string& key) {
  if (!json.is_object() || !json.contains(key) || !json[key].is_array()) refuse("a curve lacks the list '" + key + "'");
  std::vector<double> out;
  for (const nlohmann::json& item : json[key]) {
    if (!item.is_number() || !std::isfinite(item.get<double>()))
      refuse("'" + key + "' holds something that is not a finite number");
    out.push_back(item.get<double>());
  }
  return out;
}

IsotonicCurve curve_from_json(const nlohmann::json& json) {
  IsotonicCurve curve{numbers(json, "logits"), numbers(json, "probabilities")};
  if (curve.logits.empty() || curve.logits.size() != curve.probabilities.size()) {
    refuse(fmt::format("a curve has {} logits and {} probabilities", curve.logits.size(), curve.probabilities.size()));
  }
  const auto not_rising = [](double a, double b) { return a >= b; };
  if (std::adjacent_find(curve.logits.begin(), curve.logits.end(), not_rising) != curve.logits.end()) {
    refuse("the logits of a curve do not rise");
  }
  // Strictly inside (0, 1): rows of several classes are divided by the sum of their values.
  const bool ordered = std::is_sorted(curve.probabilities.begin(), curve.probabilities.end());
  if (!ordered || curve.probabilities.front() <= 0 || curve.probabilities.back() >= 1) {
    refuse("the probabilities of a curve fall, or leave the range between 0 and 1");
  }
  return curve;
}

// The calibrator with the smallest NLL on the labelled rows.
Calibrator fit(const Predictions& validation, CalibratorKind kind) {
  Calibrator out;
  out.kind = kind;
  if (kind == CalibratorKind::none) return out;
  if (labelled_rows(validation) == 0) {
    throw UserError(
        fmt::format("the calibrator '{}' needs validation rows with labels and found none among {} rows; give a validation "
                    "split, or set the calibrator to 'none'",
                    name_of_enum(kind), validation.size()));
  }
  if (kind == CalibratorKind::temperature) out.temperature = fit_temperature(validation);
  if (kind == CalibratorKind::power) {
    const PowerScaling power = fit_power(validation);
    out.scale = power.scale;
    out.exponent = power.exponent;
  }
  if (kind == CalibratorKind::isotonic) out.curves = fit_curves(validation);
  return out;
}

}  // namespace

void Calibrator::apply_to_row(std::span<double> probabilities) const {
  if (probabilities.empty()) return;
  if (kind == CalibratorKind::temperature) apply_power(probabilities, 1 / temperature, 1);
  if (kind == CalibratorKind::power) apply_power(probabilities, scale, exponent);
  if (kind == CalibratorKind::isotonic) apply_curves(probabilities, curves);
}

Predictions Calibrator::apply(Predictions predictions) const {
  const size_t classes = predictions.classes.size();
  for (int64_t i = 0; i < predictions.size(); ++i) apply_to_row({predictions.probabilities.data() + i * classes, classes});
  return predictions;
}

nlohmann::json Calibrator::to_json() const {
  nlohmann::json json{{"kind", name_of_enum(kind)}};
  if (kind == CalibratorKind::temperature) json["temperature"] = temperature;
  if (kind == CalibratorKind::power) {
    json["scale"] = scale;
    json["exponent"] = exponent;
  }
  if (kind == CalibratorKind::isotonic) {
    json["curves"] = nlohmann::json::array();
    for (const IsotonicCurve& curve : curves)
      json["curves"].push_back({{"logits", curve.logits}, {"probabilities", curve.probabilities}});
  }
  if (helps) json["helps"] = true;
  return json;
}

Calibrator Calibrator::from_json(const nlohmann::json& json) {
  if (!json.is_object() || !json.contains("kind") || !json["kind"].is_string()) refuse("its 'kind' is missing or not a string");
  const std::string name = json["kind"].get<std::string>();
  const auto& names = enum_names<CalibratorKind>;
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) {
    refuse(fmt::format("its kind is '{}', wanted one of {}", name,
                       join(std::vector<std::string>(names.begin(), names.end()), ", ")));
  }
  Calibrator out;
  out.kind = static_cast<CalibratorKind>(found - names.begin());
  if (json.contains("helps")) {  // files of earlier versions do not say it
    if (!json["helps"].is_boolean()) refuse("'helps' is neither true nor false");
    out.helps = json["helps"].get<bool>();
  }
  if (out.kind == CalibratorKind::temperature) out.temperature = positive_number(json, "temperature");
  if (out.kind == CalibratorKind::power) {
    out.scale = positive_number(json, "scale");
    out.exponent = positive_number(json, "exponent");
  }
  if (out.kind == CalibratorKind::isotonic) {
    if (!json.contains("curves") || !json["curves"].is_array() || json["curves"].empty()) refuse("it has no curves");
    for (const nlohmann::json& curve : json["curves"]) out.curves.push_back(curve_from_json(curve));
  }
  return out;
}

bool calibration_helps(const Predictions& validation, CalibratorKind kind) {
  const Predictions calibrated = cross_fitted(validation, kind);
  double sum = 0, squares = 0, rows = 0;
  for (int64_t i = 0; i < validation.size(); ++i) {
    const int32_t label = validation.labels[i];
    if (label < 0) continue;
    const auto of_label = static_cast<size_t>(label);
    const double gain = safe_log(calibrated.row(i)[of_label]) - safe_log(validation.row(i)[of_label]);
    sum += gain;
    squares += gain * gain;
    rows += 1;
  }
  if (rows < fewest_rows_to_judge) return false;
  const double variance = std::max(0.0, squares - sum * sum / rows) / (rows - 1);
  return sum / rows > std::sqrt(variance / rows);
}

Calibrator fit_calibrator(const Predictions& validation, CalibratorKind kind) {
  Calibrator out = fit(validation, kind);
  out.helps = kind != CalibratorKind::none && calibration_helps(validation, kind);
  return out;
}

Predictions cross_fitted(const Predictions& predictions, CalibratorKind kind, int folds) {
  Predictions out = predictions;
  if (kind == CalibratorKind::none) return out;
  const size_t classes = predictions.classes.size();
  const auto fold_of = [&](int64_t i) {
    const int64_t number = predictions.rows.empty() ? i : predictions.rows[static_cast<size_t>(i)];
    return static_cast<int>(mix_key(fold_seed, static_cast<uint64_t>(number)) % static_cast<uint64_t>(folds));
  };
  for (int fold = 0; fold < folds; ++fold) {
    Predictions others = predictions;
    for (int64_t i = 0; i < others.size(); ++i) {
      if (fold_of(i) == fold) others.labels[i] = -1;  // not fitted to
    }
    if (labelled_rows(others) == 0) continue;
    const Calibrator calibrator = fit(others, kind);
    for (int64_t i = 0; i < out.size(); ++i) {
      if (fold_of(i) == fold) calibrator.apply_to_row({out.probabilities.data() + i * classes, classes});
    }
  }
  return out;
}

}  // namespace l0gm
