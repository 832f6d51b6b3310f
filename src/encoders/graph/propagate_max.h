#pragma once

#include <torch/types.h>

#include "batches/graph/adjacency.h"

namespace l0gm {

// The largest neighbour per channel and which source it is, int32 (-1: there is none), [targets, width] both.
struct Largest {
  torch::Tensor values, sources;
};

// On the processor; and by torch's own operations, on any device.
Largest largest_by_kernels(const Adjacency& adjacency, const torch::Tensor& x);
Largest largest_by_tensors(const Adjacency& adjacency, const torch::Tensor& x);

// Each target's gradient to the source that it took: [sources, width].
torch::Tensor largest_back_by_kernels(const Adjacency& adjacency, const torch::Tensor& taken, const torch::Tensor& gradient);
torch::Tensor largest_back_by_tensors(const Adjacency& adjacency, const torch::Tensor& taken, const torch::Tensor& gradient);

}  // namespace l0gm
