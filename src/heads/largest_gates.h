#pragma once

#include <torch/types.h>

namespace l0gm {

// The largest gate of each source: gates [rows, dimensions], none negative, and the source of each dimension, int64 -> [rows,
// sources]; 0 for a source without dimensions. Differentiable: equal largest gates share the gradient. float32 on the processor.
torch::Tensor largest_gates(const torch::Tensor& gates, const torch::Tensor& source_of_dimension, int64_t sources);

}  // namespace l0gm
