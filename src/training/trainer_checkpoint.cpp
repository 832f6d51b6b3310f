#include "training/trainer.h"

#include <fmt/format.h>

#include "l0gm/error.h"

// What a run keeps of its state, and how it goes on or ends from there.
namespace l0gm {

void Trainer::end_here() {
  state_.stopped_early = true;
  if (state_.best_step >= 0) return;
  if (state_.step == 0) {
    throw UserError(fmt::format("{} has no checkpoint yet: there is nothing to end it with. Let it train on with --resume alone.",
                                folder_.path().string()));
  }
  const std::atomic<bool> never{false};
  enter_phase(schedule_.at(1), never);
  if (pruning_.finish()) average_.reset();
  if (config_.train.ema <= 0) average_.reset();
  const AveragedWeights::InUse averaged(average_);
  state_.best_nll = validation_loss(schedule_.at(1));
  state_.best_step = state_.step;
  save_tensors(folder_.best(), model_->state(), {{"step", std::to_string(state_.step)}});
}

void Trainer::save() const {
  TensorMap tensors;
  add_with_prefix(tensors, "model/", model_->state());
  add_with_prefix(tensors, "average/", average_.state());
  add_with_prefix(tensors, "adamw/", optimiser_.state());
  add_with_prefix(tensors, "control/", control_.memory());
  add_with_prefix(tensors, "prune/", pruning_.memory());
  TrainerState state = state_;
  save_tensors(folder_.state(), tensors, {{"trainer", OptionList::of(state).toml()}});
}

void Trainer::resume() {
  if (!std::filesystem::exists(folder_.state())) {
    folder_.keep_metrics(0);
    return;
  }
  const std::string source = folder_.state().string();
  const TensorFile file = load_tensors(folder_.state());
  const auto text = file.metadata.find("trainer");
  if (text == file.metadata.end()) throw UserError(source + " is not a checkpoint of a run");
  OptionList::of(state_).read_toml_text(text->second, source);
  copy_into(with_prefix(file.tensors, "model/"), model_->state(), source);
  copy_into(with_prefix(file.tensors, "average/"), average_.state(), source);
  optimiser_.restore(with_prefix(file.tensors, "adamw/"), source);
  const TensorMap control = with_prefix(file.tensors, "control/");
  copy_into(control, control_.memory(), source);  // refuses what does not fit
  control_.restore(control);
  pruning_.restore(with_prefix(file.tensors, "prune/"), source);
  folder_.keep_metrics(state_.metrics_lines);
  seconds_before_ = folder_.seconds_so_far();
}

}  // namespace l0gm
