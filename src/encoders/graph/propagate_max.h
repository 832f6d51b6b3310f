#pragma once

#include <torch/types.h>

#include <memory>

#include "batches/graph/adjacency.h"

namespace l0gm {

// y[v] = maximum over the neighbours, per channel; 0 if there are none. Ties: the first neighbour gets the gradient.
torch::Tensor propagate_max(const std::shared_ptr<const Adjacency>& adjacency, const torch::Tensor& x);

// The largest neighbour per channel and its source, int32 (-1 if there are no neighbours), both [targets, width].
struct Largest {
  torch::Tensor values, sources;
};

// On the processor; and with torch's own operations, on any device.
Largest largest_by_kernels(const Adjacency& adjacency, const torch::Tensor& x);
Largest largest_by_tensors(const Adjacency& adjacency, const torch::Tensor& x);

// Adds each target's gradient to the source of its maximum, `taken` (Largest::sources): [sources, width].
torch::Tensor largest_back_by_kernels(const Adjacency& adjacency, const torch::Tensor& taken, const torch::Tensor& gradient);
torch::Tensor largest_back_by_tensors(const Adjacency& adjacency, const torch::Tensor& taken, const torch::Tensor& gradient);

}  // namespace l0gm
