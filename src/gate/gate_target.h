#pragma once

#include <vector>

#include "l0gm/gate_options.h"
#include "l0gm/gate_pass.h"

namespace l0gm {

double cost_of_all_units(const std::vector<const GateSite*>& sites);

// The share of that cost which may stay open by target_active, target_speedup or k; 1 where the options name none of them.
// UserError where no choice of units meets it, so that this is said before training.
double gate_target(const GateOptions& options, const std::vector<const GateSite*>& sites);

}  // namespace l0gm
