#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace l0gm::cuda {

// sums[c] = the sum of column c of partial [rows, width], always in the same order.
void sum_columns(const float* partial, int64_t rows, int64_t width, float* sums, cudaStream_t stream);

}  // namespace l0gm::cuda
