#include "training/task.h"

#include <ATen/Functions.h>

#include "l0gm/error.h"

namespace l0gm {

namespace {
constexpr double least_probability = 1e-12;
}

torch::Tensor Task::loss(const torch::Tensor& logits, const Batch& batch) const {
  const torch::Tensor log_p = log_probabilities(logits);  // [examples, members, classes]
  const torch::Tensor index = batch.targets.view({-1, 1, 1}).expand({-1, log_p.size(1), 1});
  torch::Tensor loss = -log_p.gather(2, index).squeeze(2);
  if (label_smoothing > 0) loss = loss * (1 - label_smoothing) - log_p.mean(2) * label_smoothing;
  loss = loss.mean(1);
  if (distill_weight > 0 && batch.soft_targets.defined()) {
    const double t = distill_temperature;
    const torch::Tensor wanted = at::softmax(batch.soft_targets.clamp_min(least_probability).log() / t, 1).unsqueeze(1);
    const torch::Tensor soft = -(wanted * log_probabilities(logits / t)).sum(2).mean(1) * (t * t);
    loss = loss * (1 - distill_weight) + soft * distill_weight;
  }
  return class_weights.defined() ? loss * class_weights.index_select(0, batch.targets) : loss;
}

void Task::set_soft_targets(const Predictions&) {
  throw UserError("distill.from: this kind of task does not learn from another model so far; remove it");
}

void Task::set_hidden_targets(const torch::Tensor&, double) {
  throw UserError("distill.hidden_weight: this kind of task does not learn states; remove it");
}

torch::Tensor step_loss(const torch::Tensor& losses, const Batch& batch) {
  return batch.weights.defined() ? (losses * batch.weights).sum() : losses.mean();
}

torch::Tensor mean_probabilities(const torch::Tensor& logits) { return log_probabilities(logits).exp().mean(1); }

}  // namespace l0gm
