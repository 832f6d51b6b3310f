#pragma once

#include <limits>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/json_fields.h"
#include "metrics/calibration.h"
#include "metrics/calibrator.h"
#include "metrics/predictions.h"

namespace l0gm {

constexpr double undefined_figure = std::numeric_limits<double>::quiet_NaN();  // null in JSON

// A calibration error with the interval and the noise floor without which it cannot be read.
struct CalibrationFigure {
  double value = undefined_figure;
  Nullable<std::vector<double>> interval;  // low, high: 95 %
  double floor = undefined_figure, floor_sd = undefined_figure;

  template <class Visitor>
  void visit(Visitor& v, const std::string& name, const std::string& suffix) {
    v(name + suffix, value);
    v(name + "_interval" + suffix, interval);
    v(name + "_floor" + suffix, floor);
    v(name + "_floor_sd" + suffix, floor_sd);
  }
};

// The measures that a calibrator can change. In JSON the calibrated ones have the suffix `_scaled`.
struct Measures {
  double accuracy = undefined_figure, auc = undefined_figure, macro_f1 = undefined_figure;
  double nll = undefined_figure, brier = undefined_figure;
  CalibrationFigure ece, ece_adaptive, ece_binary, ece_classwise;
  Nullable<std::vector<ReliabilityBin>> reliability, reliability_binary;

  template <class Visitor>
  void visit(Visitor& v, const std::string& suffix) {
    v("accuracy" + suffix, accuracy);
    v("auc" + suffix, auc);
    v("macro_f1" + suffix, macro_f1);
    v("nll" + suffix, nll);
    v("brier" + suffix, brier);
    ece.visit(v, "ece", suffix);
    ece_adaptive.visit(v, "ece_adaptive", suffix);
    ece_binary.visit(v, "ece_binary", suffix);
    ece_classwise.visit(v, "ece_classwise", suffix);
    v("reliability" + suffix, reliability);
    v("reliability_binary" + suffix, reliability_binary);
  }
};

// What the calibrated figures come from: the calibrator as stored, fitted to other rows; or, on the rows that it was fitted to,
// calibrators of its kind that each row had no part in (cross_fitted).
enum class CalibratedBy { stored, cross_fit };
template <>
inline constexpr auto enum_names<CalibratedBy> = std::to_array<std::string_view>({"stored", "cross-fit"});

// Everything `eval --json` says that follows from predictions alone; what is undefined is NaN or empty, null in JSON.
struct MetricsSummary {
  using HasFields = void;
  int64_t rows = 0;  // labelled ones: those that are judged
  int64_t unlabelled_rows = 0;
  int64_t classes = 0;  // how many
  std::vector<std::string> class_names;
  Measures raw, calibrated;                     // all undefined where the calibrator is `none`
  std::vector<std::vector<int64_t>> confusion;  // [label][prediction]
  std::string calibrator;                       // its name
  Nullable<std::string> calibrated_by;          // none where the calibrator is `none`
  double temperature = undefined_figure;
  nlohmann::json calibrator_parameters;

  // Two classes are judged on P(class 1), more on the top class.
  const CalibrationFigure& main_ece() const { return classes == 2 ? raw.ece_binary : raw.ece; }
  const CalibrationFigure& main_ece_calibrated() const { return classes == 2 ? calibrated.ece_binary : calibrated.ece; }

  template <class Visitor>
  void visit(Visitor& v) {
    v("rows", rows);
    v("unlabelled_rows", unlabelled_rows);
    v("classes", classes);
    v("class_names", class_names);
    raw.visit(v, "");
    calibrated.visit(v, "_scaled");
    v("confusion", confusion);
    v("calibrator", calibrator);
    v("calibrated_by", calibrated_by);
    v("temperature", temperature);
    v("calibrator_parameters", calibrator_parameters);
  }
};

// Intervals and floors come from a fixed seed: the same predictions give the same figures.
// The calibrator's parameters are told as they are stored, whatever the calibrated figures come from.
MetricsSummary metrics_summary(const Predictions& raw, const Calibrator& calibrator, CalibratedBy by = CalibratedBy::stored);

// Fits the calibrator on validation predictions first. Without them (nullptr) the calibrator is `none`.
MetricsSummary metrics_summary(const Predictions& raw, const Predictions* validation_for_calibration, CalibratorKind kind);

}  // namespace l0gm
