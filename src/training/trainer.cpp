#include "training/trainer.h"

#include <ATen/Functions.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "base/log.h"
#include "gate/gate_figures.h"
#include "gate/tensor_values.h"
#include "l0gm/error.h"
#include "metrics/scores.h"

namespace l0gm {

namespace {

constexpr double diverging_above = 20;  // times the loss of a uniform guess

constexpr int64_t look_at_losses_every = 16;  // steps, on a device whose answer the host has to wait for

std::vector<AdamW::Group> groups_of(const Model& model, const TrainOptions& options, double gate_lr) {
  Model::ParameterGroups groups = model.parameter_groups();
  std::vector<AdamW::Group> all;
  for (auto& [share, parameters] : groups.encoder)
    all.push_back({options.lr * share, options.weight_decay, std::move(parameters)});
  all.push_back({options.head_lr.value_or(options.lr), options.weight_decay, std::move(groups.head)});
  all.push_back({gate_lr, 0, std::move(groups.logits), /*constant=*/true});
  return all;
}

int64_t count_steps(const Schedule& schedule, int64_t steps, Phase phase) {
  int64_t count = 0;
  for (int64_t step = 0; step < steps; ++step) {
    if (schedule.at(static_cast<double>(step) / static_cast<double>(steps)).phase == phase) ++count;
  }
  return count;
}

// A number of epochs, perhaps a part of one, as steps.
int64_t steps_of(double epochs, int64_t per_epoch) {
  return std::max<int64_t>(1, std::llround(epochs * static_cast<double>(per_epoch)));
}

}  // namespace

Trainer::Trainer(std::shared_ptr<Model> model, Task& task, const Config& config, const RunFolder& folder)
    : model_(std::move(model)),
      task_(task),
      config_(config),
      folder_(folder),
      schedule_(config.schedule),
      steps_per_epoch_((task.steps_per_epoch() + config.train.accumulate - 1) / config.train.accumulate),
      steps_(config.train.epochs * steps_per_epoch_),
      annealing_steps_(count_steps(schedule_, steps_, Phase::anneal)),
      rate_(config.train, steps_, model_->sites().empty() ? steps_ : steps_ - count_steps(schedule_, steps_, Phase::harden)),
      control_(config.gate, model_->sites(),
               {annealing_steps_, config.train.gate_lr, static_cast<uint64_t>(config.train.seed),
                config.schedule.kind == ScheduleKind::anneal}),
      optimiser_(groups_of(*model_, config.train, control_.rate())),
      average_(model_, config.train.ema),
      pruning_(model_, optimiser_, config.prune, config.gate, schedule_, steps_, static_cast<uint64_t>(config.train.seed)) {
  const bool gated = !model_->sites().empty();
  if (gated && schedule_.options().kind == ScheduleKind::anneal && gate_state(steps_ - 1).phase != Phase::harden) {
    throw UserError(fmt::format("{} steps leave none for hardening (schedule.anneal_until = {}): train longer or harden earlier",
                                steps_, config.schedule.anneal_until));
  }
  if (gated && config.gate.worth == UnitWorth::measured && config.schedule.kind != ScheduleKind::anneal)
    throw UserError("gate.worth = measured closes units while gates anneal: it needs schedule.kind = anneal");
  const bool by_example = config.gate.logits == LogitKind::instance || config.gate.ranks_units();
  if (gated && config.train.accumulate > 1 && by_example) {
    throw UserError(fmt::format(
        "train.accumulate = {} goes with gate.logits = global; found {}, which looks at the examples of a step together",
        config.train.accumulate, name_of_enum(config.gate.logits)));
  }
  const torch::Tensor weight = model_->parameters().front();
  if (config.train.capture && StepCapture::is_possible() && weight.is_cuda() && weight.scalar_type() == torch::kFloat32 &&
      task.has_fixed_shapes() && config.train.accumulate == 1)
    numbers_ = std::make_unique<StepNumbers>(weight.device());
  if (const std::string obstacle = control_.obstacle(); !obstacle.empty()) {
    log_warning(
        fmt::format("these gates cannot converge: {}. Train longer (train.epochs), fix the gates later "
                    "(schedule.anneal_until), or leave out train.gate_lr.",
                    obstacle));
  }
}

GateState Trainer::gate_state(int64_t step) const {
  return control_.state(schedule_.at(static_cast<double>(step) / static_cast<double>(steps_)));
}

bool Trainer::enter_phase(const GateState& state, const std::atomic<bool>& stop) {
  if (model_->sites().empty()) return true;
  if (!state_.annealing && state.phase != Phase::warmup) {
    control_.start_annealing(state);
    state_.annealing = true;
  }
  if (!state_.hardened && state.phase == Phase::harden) {
    if (state_.step > 0 && !state_.stopped_early) {  // what follows takes a while; who stops it goes on from here
      if (losses_.begun()) collect_losses();
      save();
    }
    state_.hardening = control_.harden(state);
    state_.hardened = true;
    if (!take_better_weights(state, stop)) return false;
    if (config_.train.lr_restart) optimiser_.reset();
    average_.reset();
    const Hardening& h = state_.hardening;
    const std::string noun = model_->sites().size() == 1 ? model_->sites()[0]->noun : "units";
    log_info(fmt::format("gates fixed at step {}: {} of {} {} open, {} projected", state_.step, h.open_units, h.units, noun,
                         h.projected_units));
    if (!h.converged) {
      log_warning(
          fmt::format("not converged: fixing the gates changed {} of {} units (more than 5 % and more than two). Train longer, "
                      "or fix the gates later (schedule.anneal_until).",
                      h.projected_units, h.units));
    }
    if (h.open_units == 1)
      log_warning("only one unit is open: gate.lambda is too large or gate.target_active too small for this model");
  }
  return true;
}

void Trainer::fail(const std::string& what) const {
  const std::string kept = std::filesystem::exists(folder_.state())
                               ? fmt::format(" The last checkpoint in {} is intact.", folder_.path().string())
                               : "";
  throw UserError(
      fmt::format("training stopped at step {}: {}.{} Lower train.lr (now {}) or train.gate_lr (now {}), or set train.clip "
                  "(now {}), look for extreme values in the data, and train into a new --out.",
                  state_.step, what, kept, config_.train.lr, control_.rate(), config_.train.clip));
}

bool Trainer::patience_is_over() const {
  return config_.train.patience > 0 && state_.epochs_without_better >= config_.train.patience;
}

void Trainer::evaluate(const GateState& of_step, int64_t epoch, const std::vector<Observer*>& observers, double seconds) {
  if (config_.train.ema <= 0) average_.reset();
  const AveragedWeights::InUse averaged(average_);
  const GateState state = control_.state(of_step);  // top-k over several sites follows the logits in use
  const Predictions predictions = task_.predict(*model_, state, Split::valid);
  const double valid_nll = nll(predictions), valid_loss = loss_that_counts(predictions);
  const double train_loss = state_.loss_sum / static_cast<double>(state_.loss_steps);
  const double scale = std::max(1.0, config_.distill.temperature * config_.distill.temperature);  // of the soft part
  if (!std::isfinite(valid_nll) || train_loss > scale * diverging_above * std::log(static_cast<double>(task_.class_count()))) {
    fail(fmt::format("it diverges (training loss {:.3g}, validation loss {:.3g})", train_loss, valid_nll));
  }
  const bool gated = !model_->sites().empty();
  const bool only_chance = state_.step == steps_ && state_.best_step < 0;  // a short run without hardening
  const bool selects =
      !gated || only_chance || schedule_.counts_for_selection(static_cast<double>(state_.step - 1) / static_cast<double>(steps_));
  const bool counts = selects && pruning_.is_over();
  EpochRecord record;
  if (counts) {
    record.selected = state_.best_step < 0 || valid_loss < state_.best_nll;
    state_.epochs_without_better = record.selected ? 0 : state_.epochs_without_better + config_.train.evaluate_every;
  }
  if (gated && !state_.hardened && !counts && (state_.best_step_before < 0 || valid_loss < state_.best_nll_before)) {
    state_.best_nll_before = valid_loss;
    state_.best_step_before = state_.step;
    save_tensors(folder_.before_hardening(), model_->state(), {{"step", std::to_string(state_.step)}});
  }
  if (record.selected) {
    state_.best_nll = valid_loss;
    state_.best_step = state_.step;
    save_tensors(folder_.best(), model_->state(), {{"step", std::to_string(state_.step)}});
  }
  const GateFigures figures = gate_figures(model_->sites(), state, last_pass_.get());
  const bool by_target = config_.gate.control == ControlKind::target;
  record.step = state_.step;
  record.epoch = epoch + 1;
  record.phase = gated ? name_of_enum(state.phase) : "dense";
  record.tau = state.tau;
  record.lambda = gated && !by_target ? control_.price() : 0;
  record.mu = gated && by_target ? control_.price() : 0;
  record.train_loss = train_loss;
  record.valid_nll = valid_nll;
  record.active_fraction = figures.active_fraction;
  record.expected_active_fraction = figures.expected_active_fraction;
  record.seconds = seconds;
  for (const GateSite* site : model_->sites()) {
    record.gates.push_back(gate_histogram(site->name, to_doubles(site->gate->open_probability(state.tau))));
  }
  state_.loss_sum = 0;
  state_.loss_steps = 0;
  losses_.end();
  ++state_.metrics_lines;
  folder_.append_metrics(record);
  for (Observer* observer : observers) observer->epoch_finished(record);
}

bool Trainer::run(const std::vector<Observer*>& observers, const std::atomic<bool>& stop) {
  const auto start = std::chrono::steady_clock::now();
  const StepCapture::Stream stream(numbers_ != nullptr);
  const int64_t per_epoch = steps_per_epoch_;
  const int64_t look_every = steps_of(config_.train.evaluate_every, per_epoch);
  const int64_t save_every = steps_of(config_.train.checkpoint_every, per_epoch);
  while (state_.step < steps_ && !state_.stopped_early) {
    const GateState state = gate_state(state_.step);
    if (!enter_phase(state, stop)) return false;
    if (pruning_.before_step(state_.step)) average_.reset();
    if (control_.wants_look(state) && !look_at_units(state, stop)) return false;
    const int64_t epoch = state_.step / per_epoch;
    step(state, epoch, state_.step % per_epoch);
    const int64_t done = state_.step + 1;
    const bool look = done % look_every == 0 || done == steps_, keep = done == steps_ || done % save_every == 0;
    if (losses_.on_processor() || look || keep || stop || done % look_at_losses_every == 0) collect_losses();
    state_.step = done;
    for (Observer* observer : observers) observer->step_finished(state_.step, steps_, last_loss_);
    if (look) {
      const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
      evaluate(state, epoch, observers, seconds_before_ + seconds.count());
      state_.stopped_early = patience_is_over();
    }
    if (state_.stopped_early || keep) save();
    // A wish to stop that came after the losses were looked at is met a step later: what is saved has been looked at.
    const bool looked_at = !losses_.begun() || state_.loss_steps == collected_;
    if (stop && looked_at && state_.step < steps_) {
      save();
      return false;
    }
  }
  std::error_code ignored;
  std::filesystem::remove(folder_.before_hardening(), ignored);
  return true;
}

}  // namespace l0gm
