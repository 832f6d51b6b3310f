#include "training/trainer.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/log.h"
#include "metrics/calibrator.h"
#include "training/weighted_loss.h"

// Which weights are better: by validation loss, and as a start once gates are fixed.
namespace l0gm {

namespace {

// Rows that a look at single units predicts: fewer where there are many units to try.
constexpr int64_t most_measured_rows = 4000, fewest_measured_rows = 500, measured_work = 1'500'000;  // rows times predictions

// Steps that are tried from each of two starts once gates are fixed: this part of those that follow, at most so many.
constexpr int64_t tried_share = 10, most_tried_steps = 1000;

}  // namespace

double Trainer::validation_loss(const GateState& state) {
  return loss_that_counts(task_.predict(*model_, control_.state(state), Split::valid));
}

double Trainer::loss_that_counts(const Predictions& predictions) const {
  if (config_.train.select == Selection::loss) return weighted_nll(task_, predictions);
  return weighted_nll(task_, cross_fitted(predictions, config_.train.calibrator));
}

bool Trainer::look_at_units(const GateState& state, const std::atomic<bool>& stop) {
  const int64_t rows = std::clamp(measured_work / control_.measurements(), fewest_measured_rows, most_measured_rows);
  const TensorMap memory = cloned(control_.memory()), gates = cloned(model_->gates());
  if (config_.train.ema <= 0) average_.reset();
  {
    const AveragedWeights::InUse averaged(average_);
    control_.look([&] { return weighted_losses(task_, task_.predict_sample(*model_, state, Split::valid, rows)); },
                  [&](const std::vector<uint8_t>& open) { return task_.better_units(open, stop); });
  }
  if (!stop) return true;
  // Who stops meanwhile gets no whole answer: the look is taken back, and the run goes on with it.
  control_.restore(memory);
  copy_into(gates, model_->gates(), "gates");
  if (losses_.begun()) collect_losses();
  save();
  return false;
}

// In a long run the weights may have overfitted before the gates are fixed, and what follows would start from there. Earlier ones
// have not learned to do without what is closed now: which of both is the better start shows after some steps with these gates.
bool Trainer::take_better_weights(const GateState& state, const std::atomic<bool>& stop) {
  if (state_.best_step_before < 0 || !std::filesystem::exists(folder_.before_hardening())) return true;
  if (!pruning_.is_over()) return true;  // these weights will be pruned or rewound anyway
  double now = averaged_loss(state);
  if (now <= state_.best_nll_before) return true;
  const TensorMap kept = cloned(model_->state());
  TensorMap earlier = load_tensors(folder_.before_hardening()).tensors;
  for (const auto& [name, gate] : model_->gates()) earlier[name] = kept.at(name);
  const int64_t left = state_.stopped_early ? 0 : steps_ - state_.step;
  const int64_t tried = std::min(left, std::clamp(left / tried_share, int64_t{1}, most_tried_steps));
  if (tried > 0) now = loss_after(tried, kept, stop);
  const double then = loss_after(tried, earlier, stop);
  if (tried > 0 && stop) return false;
  const bool goes_back = then < now;
  copy_into(goes_back ? earlier : kept, model_->state(), "weights");
  if (!goes_back) return true;
  log_info(fmt::format("weights go on from step {}: validation loss {:.4f}{}, {:.4f} from step {}", state_.best_step_before, then,
                       tried > 0 ? fmt::format(" after {} steps with these gates", tried) : " with these gates", now,
                       state_.step));
  return true;
}

double Trainer::averaged_loss(const GateState& state) {
  if (config_.train.ema <= 0) average_.reset();
  const AveragedWeights::InUse averaged(average_);
  return validation_loss(state);
}

double Trainer::loss_after(int64_t steps, const TensorMap& start, const std::atomic<bool>& stop) {
  const TrainerState stood = state_;
  const TensorMap moments = cloned(optimiser_.state());
  const StepLosses::Kept losses = losses_.keep();
  const int64_t collected = collected_;
  losses_.end();
  copy_into(start, model_->state(), "weights");
  average_.reset();
  for (int64_t k = 0; k < steps && !stop; ++k, ++state_.step)
    step(gate_state(state_.step), state_.step / steps_per_epoch_, state_.step % steps_per_epoch_);
  const double loss = averaged_loss(gate_state(stood.step));
  optimiser_.restore(moments, "moments");
  state_ = stood;
  losses_.restore(losses);
  collected_ = collected;
  return loss;
}

}  // namespace l0gm
