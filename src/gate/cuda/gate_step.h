#pragma once

#include <cuda_runtime.h>

#include "gate/gate_rows.h"

namespace l0gm::cuda {

// Pointers of a GateRows are the device's. value = r times the gates; `value` or `gates` may be null: not wanted.
void gate_forward(const GateRows& gate, float* value, float* gates, cudaStream_t stream);

// From the gradients of value and gates (either may be null) those of r (null: not wanted) and of the logits: [rows, width] where
// `by_element`, else [width], summed in a fixed order; `partial` has room for gate_partial_sums(gate) numbers. The noise is drawn
// again: reading it would take longer.
void gate_backward(const GateRows& gate, const float* of_value, const float* of_gates, float* of_r, float* of_logits,
                   float* partial, cudaStream_t stream);
int64_t gate_partial_sums(const GateRows& gate);

}  // namespace l0gm::cuda
