#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace l0gm::cuda {

// The dimensions of source s are dimensions[offsets[s]] … dimensions[offsets[s + 1] - 1]; every dimension has one source.
struct DeviceSources {
  int64_t rows = 0, width = 0, sources = 0;
  const int32_t* offsets = nullptr;
  const int32_t* dimensions = nullptr;
};

// largest [rows, sources] of gates [rows, width], none negative; 0 for a source without dimensions.
void largest_gates(const DeviceSources& where, const float* gates, float* largest, cudaStream_t stream);
// Equal largest gates share the gradient.
void largest_gates_backward(const DeviceSources& where, const float* gates, const float* largest, const float* of_largest,
                            float* of_gates, cudaStream_t stream);

}  // namespace l0gm::cuda
