#pragma once

#include <torch/types.h>

#include <memory>

#include "batches/graph/adjacency.h"

namespace l0gm {

// Attention (GAT): scores[v, u, h] = leaky_relu(target_score[v, h] + source_score[u, h], slope), softmax over the edges of v (and
// v itself when `self`), y[v, h] = sum of attention * x[u, h]. A target without edges and without `self` gets 0.
//   x              [sources, heads, width]
//   target_score   [targets, heads]
//   source_score   [sources, heads]
//   keep           [edges (+ targets when self), heads]: factors of the attention after the softmax (dropout); undefined: 1
//   result         [targets, heads, width]
// Edge weights of a sampled block are not used: attention under sampling is biased, as documented. Differentiable in x and both
// scores.
torch::Tensor propagate_attention(const std::shared_ptr<const Adjacency>& adjacency, const torch::Tensor& x,
                                  const torch::Tensor& target_score, const torch::Tensor& source_score, double slope, bool self,
                                  const torch::Tensor& keep);

}  // namespace l0gm
