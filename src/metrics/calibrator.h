#pragma once

#include <nlohmann/json.hpp>

#include <array>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "l0gm/options.h"
#include "metrics/isotonic.h"
#include "metrics/predictions.h"

namespace l0gm {

enum class CalibratorKind { temperature, power, isotonic, none };
template <>
inline constexpr auto enum_names<CalibratorKind> = std::to_array<std::string_view>({"temperature", "power", "isotonic", "none"});

// A map from probabilities to probabilities, fitted on validation rows and stored beside the model, never folded into it.
//   temperature  softmax(log p / T)
//   power        on the logits against the row's top class, l_c = log p_c - log p_top: l' = scale * sign(l) |l|^exponent,
//                then softmax. Two classes: the same formula on the binary logit. Exponent 1 is temperature 1/scale.
//   isotonic     two classes: a rising curve on the logit of class 1;
//                more: one curve per class on log p - log(1 - p), then normalised
//   none         the identity
// Temperature and power keep the order of the classes. Logarithms are of max(p, smallest_probability) (scores.h).
struct Calibrator {
  CalibratorKind kind = CalibratorKind::none;
  double temperature = 1;
  double scale = 1, exponent = 1;
  std::vector<IsotonicCurve> curves;
  bool helps = false;  // on validation rows that it was not fitted to: see calibration_helps(); else raw probabilities are served

  // Whether to apply it: as asked, or where it helps.
  bool is_used(std::optional<bool> asked) const { return kind != CalibratorKind::none && asked.value_or(helps); }
  void apply_to_row(std::span<double> probabilities) const;
  Predictions apply(Predictions predictions) const;

  nlohmann::json to_json() const;
  static Calibrator from_json(const nlohmann::json& json);  // UserError if it is not in the form of to_json
};

// The calibrator of that kind with the smallest NLL on the labelled rows, and whether it helps; UserError when there are none.
Calibrator fit_calibrator(const Predictions& validation, CalibratorKind kind);

// Whether cross-fitted probabilities have a smaller NLL than raw ones, by more than the standard error of the difference. Never of
// fewer than 100 rows: chance alone would decide.
bool calibration_helps(const Predictions& validation, CalibratorKind kind);

// Calibrated predictions that can be judged on the rows that a calibrator of that kind is fitted to: each row gets its
// probabilities from one that was fitted to the other folds. The fold follows from the row's number alone. Rows stay as they are
// where the other folds have no label.
Predictions cross_fitted(const Predictions& predictions, CalibratorKind kind, int folds = 5);

}  // namespace l0gm
