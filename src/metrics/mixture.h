#pragma once

#include <vector>

#include "metrics/predictions.h"

namespace l0gm {

inline double mixed(double first, double second, double share) { return (1 - share) * first + share * second; }

// Each probability mixed with the second one of its place.
void mix_in(const std::vector<double>& second, double share, std::vector<double>& probabilities);

struct Mixture {
  double share = 0;  // of the second model's probabilities
  double gain = 0;   // by which the log loss of all rows together falls
};

// The share of the second model's probabilities, rows x classes, with the least log loss of both together. 0 where that gains
// less than half a standard error of what it gains: chance alone would give a share then. `weights`: of each row; empty: all
// count the same.
Mixture best_mixture(const Predictions& first, const std::vector<double>& second, const std::vector<double>& weights = {});

}  // namespace l0gm
