#pragma once

#include <vector>

#include "metrics/predictions.h"

namespace l0gm {

// (1 - share) of each probability, and share of the second ones, in the same order.
void mix_in(const std::vector<double>& second, double share, std::vector<double>& probabilities);

// The share of the second model's probabilities, rows x classes, with the least log loss of both together. 0 where that gains
// less than half a standard error of what it gains: chance alone would give a share then. `weights`: of each row; empty: all
// count the same.
double share_of_second(const Predictions& first, const std::vector<double>& second, const std::vector<double>& weights = {});

}  // namespace l0gm
