#include "metrics/summary.h"

#include <fmt/format.h>

#include <cmath>
#include <string>

#include "base/text.h"
#include "l0gm/error.h"
#include "metrics/calibration.h"
#include "metrics/calibration_interval.h"
#include "metrics/scores.h"

namespace l0gm {
namespace {

constexpr uint64_t resampling_seed = 0;

CalibrationFigure figure_of(double value, const Interval& interval, const NoiseFloor& floor) {
  CalibrationFigure figure{value, {}, floor.mean, floor.standard_deviation};
  if (std::isfinite(interval.low)) figure.interval.value = {interval.low, interval.high};
  return figure;
}

// Without forecasts every figure stays undefined.
CalibrationFigure calibration_figure(const Forecasts& forecasts, const std::vector<uint8_t>& bins) {
  return figure_of(calibration_error(forecasts, bins), calibration_interval(forecasts, bins, resampling_seed),
                   noise_floor(forecasts, bins, resampling_seed));
}

Measures measures(const Predictions& predictions) {
  Measures out;
  out.accuracy = accuracy(predictions);
  out.auc = auc(predictions);
  out.macro_f1 = macro_f1(predictions);
  out.nll = nll(predictions);
  out.brier = brier(predictions);
  const ClasswiseUncertainty classwise = classwise_uncertainty(predictions, resampling_seed);
  out.ece_classwise = figure_of(ece_classwise(predictions), classwise.interval, classwise.floor);
  const Forecasts top = top_forecasts(predictions);
  out.ece = calibration_figure(top, equal_width_bins(top.probability));
  out.ece_adaptive = calibration_figure(top, equal_mass_bins(top.probability));
  out.reliability.value = reliability(top);
  const bool binary = predictions.class_count() == 2;
  const Forecasts positive = binary ? class_forecasts(predictions, 1) : Forecasts{};
  out.ece_binary = calibration_figure(positive, equal_width_bins(positive.probability));
  if (binary) out.reliability_binary.value = reliability(positive);
  return out;
}

std::vector<std::vector<int64_t>> confusion_rows(const Predictions& predictions) {
  const std::vector<int64_t> counts = confusion_matrix(predictions);
  const int64_t classes = predictions.class_count();
  std::vector<std::vector<int64_t>> out;
  for (int64_t c = 0; c < classes; ++c) out.emplace_back(counts.begin() + c * classes, counts.begin() + (c + 1) * classes);
  return out;
}

}  // namespace

MetricsSummary metrics_summary(const Predictions& raw, const Calibrator& calibrator, CalibratedBy by) {
  check_predictions(raw);
  MetricsSummary out;
  out.raw = measures(raw);
  if (calibrator.kind != CalibratorKind::none) {
    out.calibrated = measures(by == CalibratedBy::stored ? calibrator.apply(raw) : cross_fitted(raw, calibrator.kind));
    out.calibrated_by.value = name_of_enum(by);
  }
  out.rows = labelled_rows(raw);
  out.unlabelled_rows = raw.size() - labelled_rows(raw);
  out.classes = raw.class_count();
  out.class_names = raw.classes;
  out.confusion = confusion_rows(raw);
  out.calibrator = name_of_enum(calibrator.kind);
  out.calibrator_parameters = calibrator.to_json();
  if (calibrator.kind == CalibratorKind::temperature) out.temperature = calibrator.temperature;
  return out;
}

MetricsSummary metrics_summary(const Predictions& raw, const Predictions* validation_for_calibration, CalibratorKind kind) {
  if (validation_for_calibration == nullptr) return metrics_summary(raw, Calibrator{});
  check_predictions(*validation_for_calibration);
  if (validation_for_calibration->classes != raw.classes) {
    throw UserError(
        fmt::format("the validation predictions have the classes {} and the predictions to score {}: a calibrator fitted on the "
                    "first cannot be applied to the second; write both with the same classes",
                    list_some(validation_for_calibration->classes), list_some(raw.classes)));
  }
  return metrics_summary(raw, fit_calibrator(*validation_for_calibration, kind));
}

}  // namespace l0gm
