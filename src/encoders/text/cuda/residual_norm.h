#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cstdint>

namespace l0gm::cuda {

// Which numbers of rows dropout leaves: those of base/random.h for these keys. ids = nullptr: all.
struct RowDropout {
  const int64_t* ids = nullptr;
  uint64_t key = 0;
  float share = 0;
};

// Layer norm of x + dropped(y), row by row, in one pass. States may be float or bfloat16: of each pair of pointers, one input is
// given; outputs that are nullptr are not written.
struct ResidualNorm {
  int64_t rows = 0, width = 0;
  float epsilon = 0;
  const float* x = nullptr;
  const __nv_bfloat16* x_half = nullptr;
  const __nv_bfloat16* y = nullptr;
  RowDropout dropout;
  const float *weight = nullptr, *bias = nullptr;
  float* out = nullptr;
  __nv_bfloat16* out_half = nullptr;
  float* sum = nullptr;      // x + dropped(y) [rows, width], for the gradient
  float* moments = nullptr;  // mean and 1 / deviation of each row [rows, 2], for the gradient
};

// The gradient of the same. The gradient of the output is the sum of those of its two precisions; either may be nullptr.
// Sums over rows are taken in a fixed order.
struct ResidualNormGradient {
  int64_t rows = 0, width = 0;
  const float* grad = nullptr;
  const __nv_bfloat16* grad_half = nullptr;
  const float *sum = nullptr, *moments = nullptr, *weight = nullptr;
  RowDropout dropout;
  float* grad_x = nullptr;
  __nv_bfloat16* grad_y = nullptr;
  float* scratch = nullptr;  // [residual_norm_blocks, 3, width]
  float *grad_weight = nullptr, *grad_bias = nullptr;
  float* columns_of_grad_y = nullptr;  // its sum over rows [width]: the gradient of the bias of what made y
};

constexpr int64_t residual_norm_blocks = 264;  // two per multiprocessor of the devices that this is for

bool can_norm_residual(int64_t width);
void residual_norm(const ResidualNorm& norm, cudaStream_t stream);
void residual_norm_gradient(const ResidualNormGradient& norm, cudaStream_t stream);

}  // namespace l0gm::cuda
