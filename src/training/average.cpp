#include "training/average.h"

#include <ATen/Functions.h>

#include <algorithm>

namespace l0gm {

AveragedWeights::AveragedWeights(std::shared_ptr<Model> model, double decay) : model_(std::move(model)), decay_(decay) {
  reset();
}

TensorMap AveragedWeights::weights() const { return model_->trained_weights(); }

TensorMap AveragedWeights::state() const {
  TensorMap result = average_;
  result["updates"] = updates_;
  return result;
}

void AveragedWeights::reset() {
  updates_ = at::zeros({1}, torch::kInt64);
  for (const auto& [name, weight] : weights()) average_[name] = weight.detach().clone();
}

void AveragedWeights::update() {
  torch::NoGradGuard no_grad;
  std::vector<torch::Tensor> average, live;
  for (const auto& [name, weight] : weights()) {
    average.push_back(average_.at(name));
    live.push_back(weight);
  }
  const double count = static_cast<double>(updates_.add_(1).item<int64_t>());
  at::_foreach_lerp_(average, live, 1 - std::min(decay_, count / (count + 10)));
}

AveragedWeights::InUse::InUse(AveragedWeights& average) : average_(average) {
  torch::NoGradGuard no_grad;
  for (auto& [name, weight] : average_.weights()) {
    backup_[name] = weight.detach().clone();
    torch::Tensor destination = weight;
    destination.copy_(average_.average_.at(name));
  }
  average_.model_->settle();
}

AveragedWeights::InUse::~InUse() {
  torch::NoGradGuard no_grad;
  for (auto& [name, weight] : average_.weights()) {
    torch::Tensor destination = weight;
    destination.copy_(backup_.at(name));
  }
}

}  // namespace l0gm
