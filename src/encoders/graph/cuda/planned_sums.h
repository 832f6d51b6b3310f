#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "encoders/graph/cuda/sum_rows.h"

namespace l0gm::cuda {

// A RowPlan (row_plan.h) on the device.
struct DeviceRowPlan {
  int64_t longest = 0, cut_rows = 0, segments = 0;
  const int32_t* rows = nullptr;
  const int32_t* first_segment = nullptr;
  const int32_t* row_of_segment = nullptr;
};

// How a kernel goes about it: so many channels at a time, for which all rows are summed before the next ones (so that what is
// gathered fits the cache), and so many neighbours whose rows are loaded at the same time.
struct RowSumShape {
  int channels = 128;  // 64, 128 or 256
  int neighbours = 4;  // 4 or 8
};

// sum_rows by a plan. `partial`: room for [segments, width] numbers.
template <class Message>
void sum_planned_rows(const DeviceRowSums<Message>& sums, const DeviceRowPlan& plan, const RowSumShape& shape, float* partial,
                      cudaStream_t stream);

}  // namespace l0gm::cuda
