// What sets the sparsity, from the options that are named; contradictions are refused. Part of l0gm/gate_control.h.
//   options.target_active = 0.125;
//   resolve_control(options, false);  // now options.control is ControlKind::target
#pragma once

#include "l0gm/gate_options.h"

namespace l0gm {

// Sets `control` from whichever of lambda, target_active and k is given; contradictions are UserErrors. Call once, after all
// options are set. control_named: the user set `control` explicitly.
void resolve_control(GateOptions& options, bool control_named);

// Whether control will measure what so many units are worth, by closing them one by one, where ControlPlan::measures.
bool measures_units(const GateOptions& options, int64_t units);

}  // namespace l0gm
