#pragma once

#include <torch/types.h>

namespace l0gm {

// What one step or one evaluation block looks at. Modalities derive from it; the trainer knows nothing else.
struct Batch {
  virtual ~Batch() = default;
  torch::Tensor example_ids;   // int64 [examples]: key the noise, whatever the batch
  torch::Tensor targets;       // int64 [examples]; -1 where unknown
  torch::Tensor weights;       // [examples], or undefined: sampling corrections, class weights
  torch::Tensor soft_targets;  // [examples, classes], or undefined: another model's probabilities (distillation)
};

}  // namespace l0gm
