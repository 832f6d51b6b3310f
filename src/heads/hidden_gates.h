#pragma once

#include <memory>
#include <vector>

#include "l0gm/gate_pass.h"

namespace l0gm {

// Gates on the neurons of hidden layers (gate.attach = hidden), a site for each layer. A neuron is open or closed for all
// examples and members of a step alike.
class HiddenGates {
 public:
  // UserError where such gates cannot be had.
  std::vector<std::shared_ptr<GateSite>> make(const GateOptions& options, int64_t layers, int64_t width);
  torch::Tensor apply(size_t layer, const torch::Tensor& x, GatePass& pass) const;  // x: [.., width]

  // The neurons that are open, int64 and ascending, and what each is multiplied with. Without gates all, times 1.
  struct Open {
    torch::Tensor kept, values;
  };
  Open open(size_t layer, int64_t width, const GateState& state) const;

 private:
  std::vector<std::shared_ptr<GateSite>> sites_;
};

}  // namespace l0gm
