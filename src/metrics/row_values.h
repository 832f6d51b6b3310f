#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "l0gm/options.h"
#include "metrics/predictions.h"

// Measures of predictions, and what each row adds to them: so that models are compared row by row (metrics/compare.h).
namespace l0gm {

enum class Measure { accuracy, auc, nll, brier, ece };  // ece: of P(class 1) with two classes, else of the top class
template <>
inline constexpr auto enum_names<Measure> = std::to_array<std::string_view>({"accuracy", "auc", "nll", "brier", "ece"});

bool larger_is_better(Measure measure);
double measure_of(const Predictions& predictions, Measure measure);

// A value for each row, NaN where the label is unknown; their mean over the labelled rows is the measure, and the variance of
// that mean is the measure's.
//   accuracy, nll, brier  the row's own
//   auc                   DeLong's components: how the row ranks among those of the other class; exact up to terms of order 1 /
//   rows ece                   outcome - forecast, with the sign of its bin's gap. Where gaps are mere noise the variance is
//   overstated:
//                         intervals are then too wide, never too narrow
// All NaN where the measure is undefined (AUC of a single class).
std::vector<double> row_values(const Predictions& predictions, Measure measure);

}  // namespace l0gm
