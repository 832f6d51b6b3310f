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
  for (const auto& [name, weight] : weights()) {
    torch::Tensor& average = average_[name];
    // In its own memory, which steps that were captured know.
    if (average.defined()) {
      average.copy_(weight.detach());
    } else {
      average = weight.detach().clone();
    }
  }
}

double AveragedWeights::next_weight() {
  const double count = static_cast<double>(updates_.add_(1).item<int64_t>());
  return 1 - std::min(decay_, count / (count + 10));
}

AveragedWeights::Pairs AveragedWeights::pairs() const {
  Pairs pairs;
  for (const auto& [name, weight] : weights()) {
    pairs.average.push_back(average_.at(name));
    pairs.live.push_back(weight);
  }
  return pairs;
}

void AveragedWeights::update(double weight) {
  torch::NoGradGuard no_grad;
  const Pairs both = pairs();
  at::_foreach_lerp_(both.average, both.live, weight);
}

void AveragedWeights::update(const torch::Tensor& live_weight) {
  torch::NoGradGuard no_grad;
  const Pairs both = pairs();
  const std::vector<torch::Tensor> way = at::_foreach_sub(both.live, both.average);
  at::_foreach_mul_(way, live_weight.to(torch::kFloat32));
  at::_foreach_add_(both.average, way);
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
