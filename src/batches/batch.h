#pragma once

#include <torch/types.h>

namespace l0gm {

// The input of one training step or one evaluation block. Each modality derives from it; the trainer uses only this part.
struct Batch {
  virtual ~Batch() = default;
  // Takes over the other's numbers in its own memory, for steps that are captured and replayed. False: it is not made for that,
  // or the shapes differ, and nothing is changed.
  virtual bool take(const Batch& other) { return this == &other; }
  torch::Tensor example_ids;   // int64 [examples]: the keys of the noise, independent of the batch
  torch::Tensor targets;       // int64 [examples]; -1 where unknown
  torch::Tensor weights;       // [examples], of expected sum 1 (a sampler's corrections), or undefined: the same for each
  torch::Tensor soft_targets;  // [examples, classes], or undefined: another model's probabilities (distillation)
};

}  // namespace l0gm
