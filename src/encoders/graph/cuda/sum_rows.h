#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cstdint>

namespace l0gm::cuda {

// y[v] = target[v] * sum over edges (v, u) of weight * source[u] * x[u]  +  self[v] * own_x[own(v)]; null pointers mean 1, `self`
// null: no such term. Rows of x and y are `width` long and follow each other. Message: float or __nv_bfloat16; sums are
// kept in float.
template <class Message>
struct DeviceRowSums {
  const int64_t* offsets = nullptr;
  const int32_t* neighbours = nullptr;
  const float* weights = nullptr;
  const float* source = nullptr;
  const float* target = nullptr;
  const float* self = nullptr;
  const int64_t* own = nullptr;
  int64_t self_rows = 0;  // rows below it have a self term
  int64_t rows = 0, width = 0;
  const Message* x = nullptr;
  const float* own_x = nullptr;  // the rows that the self term reads
  float* y = nullptr;
};

template <class Message>
void sum_rows(const DeviceRowSums<Message>& sums, cudaStream_t stream);

}  // namespace l0gm::cuda
