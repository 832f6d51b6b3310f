#pragma once

#include <torch/types.h>

#include <memory>

#include "batches/graph/adjacency.h"

namespace l0gm {

// Factors of a propagation; undefined: 1. Constants: no gradient flows into them.
struct MessageScales {
  torch::Tensor target;  // [targets]
  torch::Tensor source;  // [sources]
  torch::Tensor self;    // [targets]: of the target's own row; undefined: the row is not added
};

// y[v] = target[v] * sum over edges (v, u) of weight[v, u] * source[u] * x[u]  +  self[v] * x[own(v)],   x [sources, width].
// Differentiable in x. `bfloat16`: messages are rounded to bfloat16, sums are kept in float32 (CUDA only).
torch::Tensor propagate(const std::shared_ptr<const Adjacency>& adjacency, const torch::Tensor& x, const MessageScales& scales,
                        bool bfloat16 = false);

}  // namespace l0gm
