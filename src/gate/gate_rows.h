#pragma once

#include <cstdint>

#include "gate/gate_formulas.h"
#include "l0gm/noise_key.h"

namespace l0gm {

// A gate in training as its kernels see it: one gate for each element of r, with noise of its own. Logits and `keep` (1: the unit
// may open, 0: closed by top-k; null: all may) are [width], or [rows, width] where `by_element`.
struct GateRows {
  int64_t rows = 0, width = 0;
  NoiseKey key;                  // of the noise: element (row, j) has the number that fill_uniform gives for (ids[row], j)
  const int64_t* ids = nullptr;  // [rows]
  GateNumbers numbers;
  const double* live_tau = nullptr;  // in its place where it is not null, in the memory of the device (NoiseKey::live)
  bool by_element = false;
  const float* logits = nullptr;
  const float* keep = nullptr;
  const float* r = nullptr;  // [rows, width]; null: ones
};

}  // namespace l0gm
