#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <vector>

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

// A RowPlan (batches/graph/row_plan.h) on the device; without rows: a row after the other, each whole.
struct DeviceRowPlan {
  int64_t longest = 0, cut_rows = 0, segments = 0;
  const int32_t* rows = nullptr;
  const int32_t* first_segment = nullptr;
  const int32_t* row_of_segment = nullptr;
};

// How a kernel goes about it: so many channels at a time, for which all rows are summed before the next ones (so that what is
// gathered fits the cache), and so many neighbours whose rows are loaded at the same time. Sums do not depend on it, bit for bit.
struct RowSumShape {
  int channels = 128;  // 64, 128 or 256
  int neighbours = 4;  // 4 or 8
};
std::vector<RowSumShape> row_sum_shapes(int64_t width);  // those that differ

// `partial`: room for [plan.segments, width] numbers.
template <class Message>
void sum_rows(const DeviceRowSums<Message>& sums, const DeviceRowPlan& plan, const RowSumShape& shape, float* partial,
              cudaStream_t stream);

}  // namespace l0gm::cuda
