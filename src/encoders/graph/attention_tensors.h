#pragma once

#include "encoders/graph/attention.h"

// The functions of attention_kernels.h with torch's own operations, on any device.
namespace l0gm {

torch::Tensor attention_by_tensors(const Adjacency& adjacency, const AttentionScores& scores);
torch::Tensor attention_dots_by_tensors(const Adjacency& adjacency, bool self, const torch::Tensor& gradient,
                                        const torch::Tensor& x);
ScoreGradients scores_back_by_tensors(const Adjacency& adjacency, const AttentionScores& scores, const torch::Tensor& attention,
                                      torch::Tensor gradient);

}  // namespace l0gm
