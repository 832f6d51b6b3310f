#pragma once

#include <functional>

#include "training/run.h"

namespace l0gm {

// What the gates of a finished run let through: units, fractions, parameters that remain. `gates`: what the interface of every
// example was multiplied with, [examples, width]; asked for only where that depends on the example: then figures are means over
// examples, with quantiles.
GateReport report_gates(Run& run, const std::function<torch::Tensor()>& gates);

// P(open) of every unit into the run's gates.json; a dense model has none.
void keep_units(const RunFolder& folder, const Model& model, const GateState& state);

}  // namespace l0gm
