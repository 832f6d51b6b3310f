#pragma once

#include <torch/types.h>

#include <string>
#include <vector>

#include "model/tensor_file.h"

namespace l0gm {

// AdamW in torch's fused kernels, with its state in plain sight so that a checkpoint can hold it.
class AdamW {
 public:
  struct Group {
    double lr = 1e-3, weight_decay = 0;
    TensorMap parameters;
    bool constant = false;  // lr_factor does not apply
  };
  explicit AdamW(std::vector<Group> groups);

  // Gradient norm before clipping, a scalar on the parameters' device: asking for it there would make the host wait. `clip` 0: no
  // clipping. Parameters without a gradient are left alone.
  torch::Tensor step(double lr_factor, double clip) { return step(lr_factor, torch::Tensor(), clip); }
  // The factor as a scalar on the device, for a step that is captured and replayed.
  torch::Tensor step(const torch::Tensor& live_factor, double clip) { return step(1, live_factor, clip); }
  void clear_gradients();
  void reset();  // as if no step had been
  TensorMap state() const;
  void restore(const TensorMap& state, const std::string& source);

 private:
  torch::Tensor step(double lr_factor, const torch::Tensor& live_factor, double clip);
  struct Slot {
    std::string name;
    torch::Tensor parameter, first, second, steps;
  };
  struct SlotGroup {
    double lr, weight_decay;
    bool constant;
    std::vector<Slot> slots;
  };
  std::vector<SlotGroup> groups_;
};

}  // namespace l0gm
