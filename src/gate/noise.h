#pragma once

#include "l0gm/hard_concrete.h"

namespace l0gm {

// The key of a draw's numbers (base/random.h).
NoiseKey key_of(const Draw& draw);

// Row i are the numbers that fill_uniform (base/random.h) gives for ids[i]: float32 [ids, width] on the device.
torch::Tensor uniform_of_key(uint64_t key, const torch::Tensor& ids, int64_t width, torch::Device device);

// uniform_noise by tensor operations only, for devices without a kernel of l0gm. The numbers are the same; a test compares them.
torch::Tensor uniform_noise_by_tensors(const Draw& draw, int64_t width, torch::Device device);
torch::Tensor uniform_of_key_by_tensors(uint64_t key, const torch::Tensor& ids, int64_t width, torch::Device device);

}  // namespace l0gm
