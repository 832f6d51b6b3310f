#pragma once

#include <memory>
#include <vector>

#include "batches/graph/adjacency.h"

namespace l0gm {

// A MessagePlan on a device: its lists are undefined where those are empty.
struct TensorPlan {
  std::vector<std::shared_ptr<const Adjacency>> blocks;  // one per layer, from the first
  torch::Tensor inputs, examples;                        // int64
  torch::Tensor loss_weights;
};

// complete_plan with torch's operations only, on the device that `whole`, a square block, is on; the same plan. `nodes`: int64,
// each once.
TensorPlan complete_tensor_plan(const std::shared_ptr<const Adjacency>& whole, const torch::Tensor& nodes, int64_t layers);

}  // namespace l0gm
