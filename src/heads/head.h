#pragma once

#include <torch/nn/module.h>

#include "data/batch.h"
#include "l0gm/gate_pass.h"

namespace l0gm {

// Reads the gated interface. Outputs are one logit per member for two classes, else one per class.
class Head : public torch::nn::Module {
 public:
  virtual torch::Tensor forward(const torch::Tensor& interface, const Batch& batch, GatePass& pass) = 0;  // [examples, members, outputs]
  virtual int64_t parameters_per_dimension() const = 0;  // that go when one interface dimension is closed for good
};

// Log-probabilities [examples, members, classes] of a head's logits.
torch::Tensor log_probabilities(const torch::Tensor& logits);

inline int64_t outputs_for(int64_t classes) { return classes == 2 ? 1 : classes; }

}  // namespace l0gm
