#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "gate/gate_formulas.h"

namespace l0gm::cuda {

// A gate in training on the device: value = r times the gates, one gate for each element of r, with noise of its own. Logits and
// `keep` (1: the unit may open, 0: closed by top-k; null: all may) are [width], or [rows, width] where `by_element`.
struct DeviceGate {
  int64_t rows = 0, width = 0;
  uint64_t key = 0;  // of the noise
  const int64_t* ids = nullptr;
  GateNumbers numbers;
  bool by_element = false;
  const float* logits = nullptr;
  const float* keep = nullptr;
  const float* r = nullptr;  // null: ones
};

// `value` or `gates` may be null: not wanted.
void gate_forward(const DeviceGate& gate, float* value, float* gates, cudaStream_t stream);

// From the gradients of value and gates (either may be null) those of r (null: not wanted) and of the logits: [rows, width] where
// `by_element`, else [width], summed in a fixed order; `partial` has room for gate_partial_sums(gate) numbers.
void gate_backward(const DeviceGate& gate, const float* of_value, const float* of_gates, float* of_r, float* of_logits,
                   float* partial, cudaStream_t stream);
int64_t gate_partial_sums(const DeviceGate& gate);

}  // namespace l0gm::cuda
