#pragma once

#include <torch/types.h>

#include <memory>

#include "batches/graph/adjacency.h"

namespace l0gm {

// Factors of a propagation; undefined: 1. Constants: no gradient flows into them.
struct MessageScales {
  torch::Tensor target;  // [targets]
  torch::Tensor source;  // [sources]
  torch::Tensor self;    // [targets]: of the target's own row; undefined: it is not heard
};

// y[v] = target[v] * sum over edges (v, u) of weight[v, u] * source[u] * x[u]  +  self[v] * x[own(v)],   x [sources, width].
// Differentiable in x. `bfloat16`: messages are rounded to it on the way, sums are kept in float32 (CUDA only).
torch::Tensor propagate(const std::shared_ptr<const Adjacency>& adjacency, const torch::Tensor& x, const MessageScales& scales,
                        bool bfloat16 = false);

// y[v] = maximum over the neighbours, per channel; 0 where there is none. Ties: the first neighbour has the gradient.
torch::Tensor propagate_max(const std::shared_ptr<const Adjacency>& adjacency, const torch::Tensor& x);

// Attention (GAT): scores[v, u, h] = leaky_relu(target_score[v, h] + source_score[u, h], slope), softmax over the edges of v (and
// v itself when `self`), dropout of single attention weights by the mask's numbers, y[v, h] = sum of attention * x[u, h]. x
// [sources, heads, width], target_score [targets, heads], source_score [sources, heads] -> [targets, heads, width]. `keep` :
// [edges (+ targets when self), heads], what attention is multiplied with after the softmax; undefined: 1. Edge weights of a
// sampled block are not used: attention under sampling is biased, as documented. Differentiable in x and both scores. A target
// without edges and without `self` gets 0.
torch::Tensor propagate_attention(const std::shared_ptr<const Adjacency>& adjacency, const torch::Tensor& x,
                                  const torch::Tensor& target_score, const torch::Tensor& source_score, double slope, bool self,
                                  const torch::Tensor& keep);

}  // namespace l0gm
