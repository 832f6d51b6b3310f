#include "training/task.h"

#include <ATen/Functions.h>

namespace l0gm {

torch::Tensor Task::loss(const torch::Tensor& logits, const Batch& batch) const {
  const torch::Tensor log_p = log_probabilities(logits);  // [examples, members, classes]
  const torch::Tensor index = batch.targets.view({-1, 1, 1}).expand({-1, log_p.size(1), 1});
  torch::Tensor loss = -log_p.gather(2, index).squeeze(2);
  if (label_smoothing > 0) loss = loss * (1 - label_smoothing) - log_p.mean(2) * label_smoothing;
  loss = loss.mean(1);
  return class_weights.defined() ? loss * class_weights.index_select(0, batch.targets) : loss;
}

torch::Tensor mean_probabilities(const torch::Tensor& logits) { return log_probabilities(logits).exp().mean(1); }

}  // namespace l0gm
