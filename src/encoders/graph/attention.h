#pragma once

#include <torch/types.h>

#include "batches/graph/adjacency.h"

namespace l0gm {

// What the softmax of attention reads; the weighted sums after it are row products. Edges come first, then, with `self`, one row
// per target: its edge to itself.
struct AttentionScores {
  torch::Tensor target, source;  // [targets, heads], [sources, heads]
  double slope = 0;              // of the leaky relu below 0
  bool self = false;
};

struct ScoreGradients {
  torch::Tensor target, source;
};

}  // namespace l0gm
