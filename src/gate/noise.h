#pragma once

#include "l0gm/hard_concrete.h"

namespace l0gm {

// The key of a draw's numbers (base/random.h).
uint64_t key_of(const Draw& draw);

// uniform_noise by tensor operations only, for devices without a kernel of l0gm. The numbers are the same; a test compares them.
torch::Tensor uniform_noise_by_tensors(const Draw& draw, int64_t width, torch::Device device);

}  // namespace l0gm
