#pragma once

#include <torch/types.h>

#include "l0gm/noise_key.h"

namespace l0gm {

// How gates are sampled in training: z = clip(s (zeta - gamma) + gamma) with s = sigmoid((logit + ln(u / (1 - u))) / tau).
struct GateSampling {
  double tau = 1, gamma = -0.1, zeta = 1.1;
  NoiseKey key;              // of the noise: u of element (row, j) is uniform_of_key's of (ids[row], j)
  torch::Tensor ids;         // int64 [rows]
  torch::Tensor keep;        // [width], or of the logits' shape: 0 where top-k closes; undefined: all may open
  bool gates_wanted = true;  // false: GateSample::gates may be left undefined, which spares a device writing them
  const double* live_tau = nullptr;  // where tau is in the memory of the device (NoiseKey::live); null: it is `tau`
};

struct GateSample {
  torch::Tensor value, gates;  // [rows, width]
};

// r [rows, width] times gates; without r the gates alone. Logits are [width], or [rows, width]. Differentiable in r and logits. A
// unit that is not kept is 0 in the forward pass; the gradient passes as if it were open, so that it can come back. float32 on
// the processor or a GPU is one pass of our own each way, whose results do not depend on the number of threads.
GateSample sample_gates(const torch::Tensor& r, const torch::Tensor& logits, const GateSampling& how);

// The same in tensor operations, for every type and device; tests compare.
GateSample sample_gates_by_tensors(const torch::Tensor& r, const torch::Tensor& logits, const GateSampling& how);

}  // namespace l0gm
