#include "training/trainer.h"

#include <algorithm>
#include <cmath>

#include "l0gm/coupling.h"

namespace l0gm {

void Trainer::step(const GateState& state, int64_t epoch, int64_t index) {
  model_->train();
  const int64_t parts = config_.train.accumulate, begin = index * parts, end = std::min(begin + parts, task_.steps_per_epoch());
  const std::shared_ptr<Batch> batch = task_.training_batch(epoch, begin);
  if (losses_.begin(state_.loss_sum, batch->targets.device())) collected_ = state_.loss_steps;
  const double rate_factor = rate_.factor(pruning_.rate_step(state_.step));
  const double average_weight = config_.train.ema > 0 ? average_.next_weight() : 0;
  StepNumbers* live = numbers_.get();
  if (live != nullptr) {
    live->set_step(static_cast<uint64_t>(config_.train.seed), state_.step);
    live->set(StepNumber::rate_factor, rate_factor);
    live->set(StepNumber::average_weight, average_weight);
    control_.set_numbers(state, *live);
    live->send();
  }
  torch::Tensor task_loss, whole_loss;
  StepParts step;
  step.gradients = [&](const Batch& first) {
    optimiser_.clear_gradients();
    task_loss = whole_loss = torch::Tensor();
    for (int64_t part = begin; part < end; ++part) {
      const auto following = part == begin ? nullptr : task_.training_batch(epoch, part);
      const auto [of_task, whole] = add_gradients(state, following ? *following : first, 1 / static_cast<double>(end - begin));
      task_loss = task_loss.defined() ? task_loss + of_task : of_task;
      whole_loss = whole_loss.defined() ? whole_loss + whole : whole;
    }
    control_.follow(*last_pass_);
  };
  step.decide = [&] {
    control_.decide(state);
    if (live == nullptr || state.phase != Phase::anneal) return;
    control_.set_numbers(state, *live);
    live->send();
  };
  step.update = [&] {
    control_.move(state, live);
    pruning_.mask_gradients();
    const torch::Tensor norm = live != nullptr ? optimiser_.step(live->at(StepNumber::rate_factor), config_.train.clip)
                                               : optimiser_.step(rate_factor, config_.train.clip);
    pruning_.apply();
    if (config_.train.ema > 0 && live != nullptr) average_.update(live->at(StepNumber::average_weight));
    if (config_.train.ema > 0 && live == nullptr) average_.update(average_weight);
    losses_.add(task_loss, whole_loss + norm);
  };
  capture_.run(static_cast<int64_t>(state.phase), live != nullptr && control_.can_be_replayed(state), batch, step);
  ++state_.loss_steps;
}

std::pair<torch::Tensor, torch::Tensor> Trainer::add_gradients(const GateState& state, const Batch& batch, double share) {
  last_pass_ = std::make_unique<GatePass>(state, static_cast<uint64_t>(config_.train.seed), state_.step, batch.example_ids,
                                          control_.can_be_replayed(state) ? numbers_.get() : nullptr);
  GatePass& pass = *last_pass_;
  pass.probing = control_.wants_probe(state);
  const torch::Tensor logits = model_->forward(batch, pass);
  torch::Tensor loss = step_loss(task_.loss(logits, batch), batch);
  const torch::Tensor task_loss = loss.detach();
  if (pass.further_loss().defined()) loss = loss + pass.further_loss();
  if (const torch::Tensor penalty = control_.penalty(pass); penalty.defined()) loss = loss + penalty;
  if (config_.coupling.kind != CouplingKind::none && config_.coupling.weight > 0) {
    const torch::Tensor log_p = mean_probabilities(logits).clamp_min(1e-12).log();
    loss = loss + config_.coupling.weight * coupling_loss(config_.coupling.kind, log_p, batch.targets);
  }
  if (share != 1) loss = loss * share;
  loss.backward();
  return {share != 1 ? task_loss * share : task_loss, loss.detach()};
}

void Trainer::collect_losses() {
  const double sum = losses_.loss();
  if (!std::isfinite(sum)) fail("the loss is not a finite number");
  if (!std::isfinite(losses_.norm())) fail("the gradient is not finite");
  if (state_.loss_steps > collected_) last_loss_ = (sum - state_.loss_sum) / static_cast<double>(state_.loss_steps - collected_);
  collected_ = state_.loss_steps;
  state_.loss_sum = sum;
}

}  // namespace l0gm
