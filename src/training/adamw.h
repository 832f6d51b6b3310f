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
  torch::Tensor step(double lr_factor, double clip);
  void clear_gradients();
  TensorMap state() const;
  void restore(const TensorMap& state, const std::string& source);

 private:
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
