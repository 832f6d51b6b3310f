#pragma once

#include <torch/types.h>

#include "batches/graph/adjacency.h"

namespace l0gm {

// The softmax of attention and its way back; the sums of rows around it are row products. Edges come first, then, with `self`,
// one row per target: its edge to itself.
struct AttentionScores {
  torch::Tensor target, source;  // [targets, heads], [sources, heads]
  double slope = 0;              // of the leaky relu below 0
  bool self = false;
};

struct ScoreGradients {
  torch::Tensor target, source;
};

// [edges (+ targets), heads], each target's rows sum to 1.
torch::Tensor attention_by_kernels(const Adjacency& adjacency, const AttentionScores& scores);
torch::Tensor attention_by_tensors(const Adjacency& adjacency, const AttentionScores& scores);

// dots[e, h] = gradient[v, h] . x[u, h] for each edge and, with `self`, each target's own row: the gradient of what attention was
// kept.
torch::Tensor attention_dots_by_kernels(const Adjacency& adjacency, bool self, const torch::Tensor& gradient,
                                        const torch::Tensor& x);
torch::Tensor attention_dots_by_tensors(const Adjacency& adjacency, bool self, const torch::Tensor& gradient,
                                        const torch::Tensor& x);

// Gradients of the scores; `gradient`, of the attention, is used up.
ScoreGradients scores_back_by_kernels(const Adjacency& adjacency, const AttentionScores& scores, const torch::Tensor& attention,
                                      torch::Tensor gradient);
ScoreGradients scores_back_by_tensors(const Adjacency& adjacency, const AttentionScores& scores, const torch::Tensor& attention,
                                      torch::Tensor gradient);

}  // namespace l0gm
