#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "l0gm/noise_key.h"

namespace l0gm::cuda {

// y = dropout(relu(layer norm of each row of x, times weight plus bias)), in one pass.
struct DeviceRowNorm {
  int64_t rows = 0, width = 0;
  float epsilon = 0;
  const float* x = nullptr;
  const float* weight = nullptr;
  const float* bias = nullptr;
  // Dropout as mask_rows (gate/cuda/noise.h): the numbers of (ids[row], channel); share 0: none.
  float share = 0;
  NoiseKey key;
  const int64_t* ids = nullptr;
};

bool can_norm_rows(int64_t width);
// `mean` and `scale`, what each row's numbers are shifted and multiplied by, are kept for the backward pass; null: not wanted.
void norm_rows(const DeviceRowNorm& norm, float* y, float* mean, float* scale, cudaStream_t stream);

// From the gradient of y those of x (null: not wanted), weight and bias; the mask is drawn again. `partial`: room for
// norm_partial_sums(norm) numbers. Sums over rows are always in the same order. of_weight_and_bias: [2, width].
void norm_rows_backward(const DeviceRowNorm& norm, const float* mean, const float* scale, const float* of_y, float* of_x,
                        float* of_weight_and_bias, float* partial, cudaStream_t stream);
int64_t norm_partial_sums(const DeviceRowNorm& norm);

}  // namespace l0gm::cuda
