#pragma once

#include <vector>

#include "metrics/predictions.h"
#include "training/task.h"

namespace l0gm {

// Weights are chosen by the loss that they are trained for: where rows or classes count differently, so they do here.
double weighted_nll(const Task& task, const Predictions& predictions);

// Of the rows that have a label; their mean is the weighted loss.
std::vector<double> weighted_losses(const Task& task, const Predictions& predictions);

}  // namespace l0gm
