#pragma once

#include <string>
#include <vector>

#include "run/evaluation.h"

namespace l0gm {

// Active fraction against AUC (accuracy where that is undefined) with characters, for a terminal of so many columns: a letter for
// each result, in the order of the list, and a line that names them; those on the Pareto front are marked. "" with fewer than
// three results with gates, or where they are of different data.
std::string pareto_sketch(const std::vector<Evaluation>& evaluations, int columns);

}  // namespace l0gm
