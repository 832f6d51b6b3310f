#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "l0gm/noise_key.h"

namespace l0gm::cuda {

// As base/random.h's fill_uniform, on the device: the same numbers.
void fill_uniform(uint64_t key, const int64_t* ids, int64_t rows, int64_t width, float* out, cudaStream_t stream);
// out = x where the number is at least `share`, times `scale`; else 0.
void mask_rows(const float* x, const int64_t* ids, int64_t rows, int64_t width, NoiseKey key, float share, float scale,
               float* out, cudaStream_t stream);

}  // namespace l0gm::cuda
