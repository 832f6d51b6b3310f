#pragma once

#include <cstdint>
#include <vector>

#include "gate/gate_formulas.h"

namespace l0gm {

// The loops over a row of a gate in training, for one instruction set. Every pointer is `count` numbers.
struct GateKernels {
  const char* name;
  // z, and r times z where `keep` is 1; kept: z there, else 0.
  void (*forward)(const GateNumbers& n, int64_t count, const float* logits, const float* u, const float* keep, const float* r,
                  float* z, float* kept, float* value);
  // Gradients of r and of the logits from those of value and kept. A unit that is not kept passes its gradient on as if it were.
  void (*backward)(const GateNumbers& n, int64_t count, const float* z, const float* keep, const float* r, const float* of_value,
                   const float* of_kept, float* of_r, float* of_logits);
};

const GateKernels& gate_kernels();
std::vector<GateKernels> usable_gate_kernels();  // the best first

}  // namespace l0gm
