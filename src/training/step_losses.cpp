#include "training/step_losses.h"

#include <ATen/Functions.h>

namespace l0gm {

bool StepLosses::begin(double so_far, torch::Device device) {
  if (begun_) return false;
  if (!loss_.defined()) {
    loss_ = at::zeros({}, at::TensorOptions().dtype(torch::kFloat64).device(device));
    norm_ = at::zeros_like(loss_);
  }
  loss_.fill_(so_far);
  norm_.zero_();
  return begun_ = true;
}

void StepLosses::add(const torch::Tensor& loss, const torch::Tensor& norm) {
  loss_ += loss;
  norm_ += norm;
}

StepLosses::Kept StepLosses::keep() const {
  return begun_ ? Kept{loss_.clone(), norm_.clone(), true} : Kept{{}, {}, false};
}

void StepLosses::restore(const Kept& kept) {
  begun_ = kept.begun;
  if (!begun_) return;
  loss_.copy_(kept.loss);
  norm_.copy_(kept.norm);
}

}  // namespace l0gm
