#pragma once

#include "metrics/predictions.h"

namespace l0gm {

// Bounds of the fitted parameters: where validation rows are separated perfectly the best temperature would be 0.
constexpr double lowest_temperature = 0.05, highest_temperature = 20;
constexpr double lowest_power_scale = 1e-4, highest_power_scale = 1e4;
constexpr double lowest_power_exponent = 0.2, highest_power_exponent = 5;

// The T in [0.05, 20] with the smallest NLL of softmax(log p / T); convex in 1/T, so it is the global one. 1 if every T is
// equally good (every row uniform). Needs a labelled row.
double fit_temperature(const Predictions& predictions);

// The (scale, exponent) with the smallest NLL of softmax(-scale * |log p_c - log p_top|^exponent), started at the best
// temperature (exponent 1), so never worse than it on the rows it is fitted on. Needs a labelled row.
struct PowerScaling {
  double scale = 1, exponent = 1;
};
PowerScaling fit_power(const Predictions& predictions);

}  // namespace l0gm
