#include "training/trainer.h"

#include <ATen/Functions.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numbers>
#include <numeric>

#include "base/log.h"
#include "gate/gate_figures.h"
#include "gate/tensor_values.h"
#include "l0gm/error.h"
#include "metrics/scores.h"
#include "training/weighted_loss.h"

namespace l0gm {

namespace {

constexpr double diverging_above = 20;  // times the loss of a uniform guess

// Rows that a look at single units predicts: fewer where there are many units to try.
constexpr int64_t most_measured_rows = 4000, fewest_measured_rows = 500, measured_work = 1'500'000;  // rows times predictions

// Steps that are tried from each of two starts once gates are fixed: this part of those that follow, at most so many.
constexpr int64_t tried_share = 10, most_tried_steps = 1000;

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

int64_t count_annealing_steps(const Schedule& schedule, int64_t steps) {
  int64_t annealing = 0;
  for (int64_t step = 0; step < steps; ++step) {
    if (schedule.at(static_cast<double>(step) / static_cast<double>(steps)).phase == Phase::anneal) ++annealing;
  }
  return annealing;
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
      annealing_steps_(count_annealing_steps(schedule_, steps_)),
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

double Trainer::learning_rate_factor(int64_t step) const {
  const TrainOptions& options = config_.train;
  const double warmup = options.lr_warmup * static_cast<double>(steps_), at = static_cast<double>(step);
  if (at < warmup) return (at + 1) / (warmup + 1);
  const double x = (at - warmup) / std::max(1.0, static_cast<double>(steps_) - warmup);
  switch (options.lr_decay) {
    case Decay::cosine:
      return options.lr_end + (1 - options.lr_end) * (0.5 + 0.5 * std::cos(std::numbers::pi * x));
    case Decay::linear:
      return 1 + (options.lr_end - 1) * x;
    case Decay::constant:
      return 1;
  }
  return 1;
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

double Trainer::validation_loss(const GateState& state) {
  return weighted_nll(task_, task_.predict(*model_, control_.state(state), Split::valid));
}

void Trainer::look_at_units(const GateState& state) {
  const int64_t rows = std::clamp(measured_work / control_.measurements(), fewest_measured_rows, most_measured_rows);
  if (config_.train.ema <= 0) average_.reset();
  const AveragedWeights::InUse averaged(average_);
  control_.look([&] { return weighted_losses(task_, task_.predict_sample(*model_, state, Split::valid, rows)); });
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

void Trainer::step(const GateState& state, int64_t epoch, int64_t index) {
  model_->train();
  const int64_t parts = config_.train.accumulate, begin = index * parts, end = std::min(begin + parts, task_.steps_per_epoch());
  const std::shared_ptr<Batch> batch = task_.training_batch(epoch, begin);
  if (losses_.begin(state_.loss_sum, batch->targets.device())) collected_ = state_.loss_steps;
  const double rate_factor = learning_rate_factor(pruning_.rate_step(state_.step));
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
  const double valid_nll = nll(predictions), valid_loss = weighted_nll(task_, predictions);
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
    if (control_.wants_look(state)) look_at_units(state);
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
