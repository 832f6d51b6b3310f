#pragma once

#include <string>
#include <vector>

#include "run/evaluation.h"

namespace l0gm {

// For people: one evaluation as lines, several as one table; there the means over perturbed copies are over the conditions that
// all have.
std::string describe(const Evaluation& evaluation);
std::string compare(const std::vector<Evaluation>& evaluations);

}  // namespace l0gm
