#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "gate/step_numbers.h"
#include "l0gm/gate_control.h"
#include "run/run_folder.h"
#include "training/adamw.h"
#include "training/average.h"
#include "training/config.h"
#include "training/learning_rate.h"
#include "training/step_capture.h"
#include "training/step_losses.h"
#include "training/task.h"
#include "training/weight_pruning.h"

namespace l0gm {

// Where a run stands: what a checkpoint holds beside tensors, and what the summary tells.
struct TrainerState {
  int64_t step = 0;
  int64_t metrics_lines = 0;
  int64_t best_step = -1;
  double best_nll = 0;
  int64_t best_step_before = -1;  // the same before gates are fixed
  double best_nll_before = 0;
  double epochs_without_better = 0;
  double loss_sum = 0;  // since the last look at the validation rows
  int64_t loss_steps = 0;
  bool annealing = false, hardened = false, stopped_early = false;
  Hardening hardening;

  template <class Visitor>
  void visit(Visitor& v) {  // named as options are, for the checkpoint
    v("trainer.step", step, "");
    v("trainer.metrics_lines", metrics_lines, "");
    v("trainer.best_step", best_step, "");
    v("trainer.best_nll", best_nll, "");
    v("trainer.best_step_before", best_step_before, "");
    v("trainer.best_nll_before", best_nll_before, "");
    v("trainer.epochs_without_better", epochs_without_better, "");
    v("trainer.loss_sum", loss_sum, "");
    v("trainer.loss_steps", loss_steps, "");
    v("trainer.annealing", annealing, "");
    v("trainer.hardened", hardened, "");
    v("trainer.stopped_early", stopped_early, "");
    v("hardening.units", hardening.units, "");
    v("hardening.open_units", hardening.open_units, "");
    v("hardening.projected_units", hardening.projected_units, "");
    v("hardening.converged", hardening.converged, "");
    v("hardening.late_changes", hardening.late_changes, "");
    v("hardening.logit_spread", hardening.logit_spread, "");
  }
};

// Trains a model on a task into a run folder. Knows batches, a loss, sites and steps; no modality.
class Trainer {
 public:
  Trainer(std::shared_ptr<Model> model, Task& task, const Config& config, const RunFolder& folder);

  void resume();  // from the folder's checkpoint, when it has one
  // False when `stop` was raised: the step is finished, the state saved. Throws UserError on a loss that is not finite.
  bool run(const std::vector<Observer*>& observers, const std::atomic<bool>& stop);

  // Ends training where the checkpoint stands: the best weights so far stay; where none were looked at since gates were fixed,
  // gates are fixed as they are now, and these weights are the best.
  void end_here();

  const TrainerState& state() const { return state_; }
  const GateControl& control() const { return control_; }
  const WeightPruning& pruning() const { return pruning_; }
  int64_t planned_steps() const { return steps_; }  // if training is not ended early

 private:
  GateState gate_state(int64_t step) const;
  // False when `stop` was raised before it was done.
  bool enter_phase(const GateState& state, const std::atomic<bool>& stop);
  // Once gates are fixed: goes on from the best weights that there were before, where these are the better start.
  bool take_better_weights(const GateState& state, const std::atomic<bool>& stop);
  double validation_loss(const GateState& state);
  // By which weights are kept (train.select).
  double loss_that_counts(const Predictions& predictions) const;
  double averaged_loss(const GateState& state);  // of the averaged weights
  // On validation rows, after so many steps from there, or fewer where `stop` is raised. The model is left as it is then, all
  // else as it was.
  double loss_after(int64_t steps, const TensorMap& start, const std::atomic<bool>& stop);
  // Closes units by what they are worth on validation rows. False when `stop` was raised: nothing is closed, the state saved.
  bool look_at_units(const GateState& state, const std::atomic<bool>& stop);
  void step(const GateState& state, int64_t epoch, int64_t index);
  // Of one part of a step's examples; the loss of the task and all of it, as that share of the step's.
  std::pair<torch::Tensor, torch::Tensor> add_gradients(const GateState& state, const Batch& batch, double share);
  void collect_losses();  // since the last evaluation; UserError if one was not finite
  void evaluate(const GateState& of_step, int64_t epoch, const std::vector<Observer*>& observers, double seconds);
  void save() const;
  bool patience_is_over() const;
  [[noreturn]] void fail(const std::string& what) const;

  std::shared_ptr<Model> model_;
  Task& task_;
  Config config_;
  const RunFolder& folder_;
  Schedule schedule_;
  int64_t steps_per_epoch_, steps_, annealing_steps_;
  LearningRate rate_;
  GateControl control_;
  AdamW optimiser_;
  AveragedWeights average_;
  WeightPruning pruning_;
  TrainerState state_;
  double seconds_before_ = 0;  // spent by earlier processes; not in the checkpoint, which two equal runs share byte for byte
  std::unique_ptr<GatePass> last_pass_;
  StepLosses losses_;
  std::unique_ptr<StepNumbers> numbers_;  // steps are captured and replayed; none: they are not
  StepCapture capture_;
  int64_t collected_ = 0;  // steps whose loss is in the state
  double last_loss_ = 0;
};

}  // namespace l0gm
