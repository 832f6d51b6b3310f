#pragma once

#include "encoders/graph/attention.h"

// Attention and its gradients on the processor, with kernels of our own; attention_tensors.h computes the same on any device.
namespace l0gm {

// [edges (+ targets), heads]; the rows of each target sum to 1.
torch::Tensor attention_by_kernels(const Adjacency& adjacency, const AttentionScores& scores);

// dots[e, h] = gradient[v, h] . x[u, h] for each edge and, with `self`, each target's own row: the gradient of the attention
// after dropout.
torch::Tensor attention_dots_by_kernels(const Adjacency& adjacency, bool self, const torch::Tensor& gradient,
                                        const torch::Tensor& x);

// Gradients of the scores; `gradient`, of the attention, is overwritten.
ScoreGradients scores_back_by_kernels(const Adjacency& adjacency, const AttentionScores& scores, const torch::Tensor& attention,
                                      torch::Tensor gradient);

}  // namespace l0gm
