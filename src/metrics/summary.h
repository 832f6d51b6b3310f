#pragma once

#include <nlohmann/json.hpp>

#include "metrics/calibrator.h"
#include "metrics/predictions.h"

namespace l0gm {

// Everything `eval --json` says that follows from predictions alone; what is undefined is null.
//   rows (labelled ones: those that are judged), unlabelled_rows, classes (how many), class_names,
//   accuracy, auc, macro_f1, nll, brier, ece, ece_binary, ece_adaptive, ece_classwise,
//   X_interval [low, high], X_floor, X_floor_sd for X = ece, ece_binary, ece_adaptive,
//   confusion [label][prediction], reliability and reliability_binary [{low, high, count, confidence, accuracy}],
//   calibrator (name), temperature (null unless the calibrator has one), calibrator_parameters,
//   and after calibration, side by side: Y_scaled for each measure Y above (intervals, floors and diagrams included), all null
//   when the calibrator is `none`.
// Intervals and floors come from a fixed seed: the same predictions give the same figures.
nlohmann::json judge(const Predictions& raw, const Calibrator& calibrator);

// Fits the calibrator on validation predictions first. Without them nothing is fitted: as with `none`.
nlohmann::json judge(const Predictions& raw, const Predictions* validation_for_calibration, CalibratorKind kind);

}  // namespace l0gm
