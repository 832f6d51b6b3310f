#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace l0gm::cuda {

// y = relu(layer norm of each row of x, times weight plus bias), in one pass.
struct DeviceRowNorm {
  int64_t rows = 0, width = 0;
  float epsilon = 0;
  const float* x = nullptr;
  const float* weight = nullptr;
  const float* bias = nullptr;
  float* y = nullptr;
};

bool can_norm_rows(int64_t width);
void norm_rows(const DeviceRowNorm& norm, cudaStream_t stream);

}  // namespace l0gm::cuda
