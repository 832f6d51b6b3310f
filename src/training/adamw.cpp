#include "training/adamw.h"

#include <ATen/Functions.h>

namespace l0gm {

namespace {
constexpr double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;
}

AdamW::AdamW(std::vector<Group> groups) {
  for (Group& group : groups) {
    SlotGroup slots{group.lr, group.weight_decay, group.constant, {}};
    for (const auto& [name, parameter] : group.parameters) {
      slots.slots.push_back({name, parameter, at::zeros_like(parameter), at::zeros_like(parameter),
                             at::zeros({}, parameter.options().dtype(torch::kFloat32))});
    }
    groups_.push_back(std::move(slots));
  }
}

torch::Tensor AdamW::step(double lr_factor, const torch::Tensor& live_factor, double clip) {
  torch::NoGradGuard no_grad;
  std::vector<torch::Tensor> gradients;
  for (const SlotGroup& group : groups_) {
    for (const Slot& slot : group.slots) {
      if (slot.parameter.grad().defined()) gradients.push_back(slot.parameter.grad());
    }
  }
  if (gradients.empty()) return at::zeros({});
  const torch::Tensor norm = at::stack(at::_foreach_norm(gradients)).norm();
  if (clip > 0) {
    if (!norm.is_cpu()) {
      at::_foreach_mul_(gradients, (clip / (norm + 1e-6)).clamp_max(1));
    } else if (const double size = norm.item<double>(); size > clip) {
      at::_foreach_mul_(gradients, clip / (size + 1e-6));
    }
  }
  for (SlotGroup& group : groups_) {
    std::vector<torch::Tensor> parameters, grads, first, second, steps;
    for (Slot& slot : group.slots) {
      if (!slot.parameter.grad().defined()) continue;
      parameters.push_back(slot.parameter);
      grads.push_back(slot.parameter.grad());
      first.push_back(slot.first);
      second.push_back(slot.second);
      steps.push_back(slot.steps);
    }
    if (parameters.empty()) continue;
    at::_foreach_add_(steps, 1);
    const auto update = [&](const auto& rate) {
      at::_fused_adamw_(parameters, grads, first, second, {}, steps, rate, beta1, beta2, group.weight_decay, epsilon,
                        /*amsgrad=*/false, /*maximize=*/false);
    };
    if (live_factor.defined() && !group.constant) {
      update((live_factor * group.lr).to(torch::kFloat32));
    } else {
      update(group.constant ? group.lr : group.lr * lr_factor);
    }
    // The kernel does not count its writing; who keeps something made from a weight (FusedLayers) looks at the count.
    for (const torch::Tensor& parameter : parameters) parameter.unsafeGetTensorImpl()->bump_version();
  }
  return norm;
}

void AdamW::clear_gradients() {
  for (SlotGroup& group : groups_) {
    for (Slot& slot : group.slots) slot.parameter.mutable_grad() = torch::Tensor();
  }
}

void AdamW::reset() {
  torch::NoGradGuard no_grad;
  for (auto& [name, tensor] : state()) tensor.zero_();  // in its own memory, which steps that were captured know
}

TensorMap AdamW::state() const {
  TensorMap state;
  for (const SlotGroup& group : groups_) {
    for (const Slot& slot : group.slots) {
      state["first/" + slot.name] = slot.first;
      state["second/" + slot.name] = slot.second;
      state["steps/" + slot.name] = slot.steps;
    }
  }
  return state;
}

void AdamW::restore(const TensorMap& from, const std::string& source) { copy_into(from, state(), source); }

}  // namespace l0gm
