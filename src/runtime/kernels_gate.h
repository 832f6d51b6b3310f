#pragma once

#include "runtime/packed_rows.h"

namespace l0gm::kernels {

// Multiplies an example's units by the gate's values for them. scratch: gate_scratch(gate) numbers.
void gate_units(const NetGate<PackedRows>& gate, double* units, int64_t count, double* scratch);
int64_t gate_scratch(const NetGate<PackedRows>& gate);

}  // namespace l0gm::kernels
