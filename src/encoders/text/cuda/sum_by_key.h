#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace l0gm::cuda {

// out[key] = the sum of rows[order[i]] over all i with keys[i] = key, in this order; keys ascend. Rows of `out` without a key
// stay as they are.
void sum_by_key(const int64_t* keys, const int64_t* order, int64_t count, const float* rows, int64_t width, float* out,
                cudaStream_t stream);

}  // namespace l0gm::cuda
