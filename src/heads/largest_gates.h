#pragma once

#include <torch/types.h>

#include <vector>

namespace l0gm {

// Which source each dimension of an interface belongs to.
struct SourcesOfDimensions {
  SourcesOfDimensions() = default;
  SourcesOfDimensions(const std::vector<int64_t>& source_of_dimension, int64_t sources);

  int64_t sources = 0;
  torch::Tensor runs;  // int64 [runs, 3], on the processor: neighbouring dimensions of one source; the source, begin and end
  torch::Tensor offsets, dimensions;  // int32: the same as lists of dimensions, source by source; on the gates' device
};

// The largest gate of each source: gates [rows, dimensions], none negative -> [rows, sources]; 0 for a source without dimensions.
// Differentiable: equal largest gates share the gradient. float32 on the processor or a GPU: has_largest_gates.
torch::Tensor largest_gates(const torch::Tensor& gates, const SourcesOfDimensions& where);
bool has_largest_gates(const torch::Tensor& gates);

}  // namespace l0gm
