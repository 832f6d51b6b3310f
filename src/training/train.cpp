#include "training/train.h"

#include <ATen/Functions.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

#include "base/hash.h"
#include "base/log.h"
#include "base/log_pause.h"
#include "base/text.h"
#include "l0gm/error.h"
#include "training/gate_report.h"
#include "training/run.h"
#include "training/started_folder.h"
#include "training/teacher.h"
#include "training/trainer.h"
#include "training/trials.h"

namespace l0gm {

namespace {

// Weights of another run as a start: all but the gates must fit; gates are taken over where they fit.
void start_from(const std::string& path, const Modality& modality, Model& model) {
  const RunFolder folder = RunFolder::open(path);
  folder.require_finished();
  TensorMap given = load_tensors(folder.best()).tensors, wanted = model.state();
  modality.leave_out(given, model);
  for (const auto& [name, parameter] : model.gates()) {
    const auto found = given.find(name);
    const bool fits = found != given.end() && found->second.sizes() == parameter.sizes();
    if (!fits) wanted.erase(name);
  }
  std::erase_if(given, [&](const auto& item) { return !wanted.contains(item.first) && is_gate_name(item.first); });
  copy_into(given, wanted, folder.best().string());
  log_info(fmt::format("weights start from {}", path));
}

// False: `stop` was raised before it was done; it can be done again.
bool finish(RunFolder& folder, const Config& config, Task& task, Model& model, const Trainer& trainer, double seconds,
            const std::atomic<bool>& stop) {
  const TrainerState& stood = trainer.state();
  copy_into(load_tensors(folder.best()).tensors, model.state(), folder.best().string());
  std::filesystem::remove(folder.trees());  // of an end that was interrupted
  if (!task.complete(model, final_state(config, model), folder, stop)) return false;
  const Predictions valid = task.predict(model, final_state(config, model), Split::valid);
  write_predictions(folder.predictions(Split::valid), valid);
  const Calibrator calibrator = fit_calibrator(valid, config.train.calibrator);
  nlohmann::json summary = {{"best_step", stood.best_step},
                            {"best_valid_nll", stood.best_nll},
                            {"steps", stood.step},
                            {"planned_steps", trainer.planned_steps()},
                            {"stopped_early", stood.stopped_early},
                            {"hardened", stood.hardened},
                            {"projected_units", stood.hardening.projected_units},
                            {"converged", stood.hardening.converged},
                            {"late_changes", stood.hardening.late_changes},
                            {"logit_spread", stood.hardening.logit_spread},
                            {"calibrator", calibrator.to_json()},
                            {"seconds", seconds}};
  if (std::filesystem::exists(folder.trees())) summary["trees_sha256"] = sha256_file(folder.trees());
  if (trainer.pruning().prunes()) {
    const auto [weights, nonzero] = trainer.pruning().count();
    summary["prunable_weights"] = weights;
    summary["nonzero_weights"] = nonzero;
  }
  if (!trainer.control().exchanges().empty()) {
    summary["exchanges"] = nlohmann::json::array();
    for (const Exchange& e : trainer.control().exchanges()) {
      summary["exchanges"].push_back({{"open", trainer.control().unit_name(e.open)},
                                      {"closed", trainer.control().unit_name(e.closed)},
                                      {"rise", e.rise},
                                      {"error", e.error}});
    }
  }
  keep_units(folder, model, final_state(config, model));
  folder.write_json(folder.summary(), summary);
  folder.set_finished();
  return true;
}

}  // namespace

torch::Tensor balanced_weights(const std::vector<int64_t>& class_rows) {
  const auto rows = static_cast<double>(std::accumulate(class_rows.begin(), class_rows.end(), int64_t{0}));
  std::vector<double> weights;
  for (const int64_t of_class : class_rows) {
    weights.push_back(of_class > 0 ? rows / (static_cast<double>(class_rows.size()) * static_cast<double>(of_class)) : 0);
  }
  return at::tensor(weights, torch::kFloat64);
}

torch::Tensor weights_of_classes(const TrainOptions& options, const std::vector<std::string>& classes,
                                 const std::vector<int64_t>& class_rows) {
  const bool balanced = options.class_weights == ClassWeights::balanced;
  if (options.weight_of_class.empty()) return balanced ? balanced_weights(class_rows) : torch::Tensor();
  torch::Tensor weights =
      balanced ? balanced_weights(class_rows) : at::ones({static_cast<int64_t>(classes.size())}, torch::kFloat64);
  for (const auto& [name, text] : options.weight_of_class) {
    const auto place = std::find(classes.begin(), classes.end(), name);
    if (place == classes.end()) {
      throw UserError(fmt::format("train.weight_of_class names '{}', which is no class; there are: {}.{}", name,
                                  list_some(classes), did_you_mean(name, classes)));
    }
    const auto weight = parse_double(text);
    if (!weight || !(*weight > 0) || std::isinf(*weight)) {
      throw UserError(fmt::format("train.weight_of_class: '{}' counts '{}', wanted a number above 0.", name, text));
    }
    weights[place - classes.begin()] *= *weight;
  }
  const torch::Tensor rows = at::tensor(class_rows, torch::kInt64).to(torch::kFloat64);
  return weights * (rows.sum() / at::dot(weights, rows));
}

bool train(const Modalities& modalities, const Config& given, const std::filesystem::path& out, bool resume,
           const Machine& machine, const std::vector<Observer*>& observers, const std::atomic<bool>& stop, bool end_here) {
  Config config = given;
  const auto start = std::chrono::steady_clock::now();
  if (!resume) RunFolder::require_free(out);  // before any work
  const Modality& modality = modality_of(modalities, config.data);
  modality.check(config, machine);
  const std::shared_ptr<Dataset> dataset = modality.load(config);
  std::unique_ptr<Record> record = modality.fit(*dataset, config);
  modality.settle(config, *record);
  const bool learns_from_dense = config.distill.dense == DenseTeacher::on;
  if (learns_from_dense) check_dense_teacher(modality, config);
  const bool goes_on = resume && RunFolder::is_run(out) && RunFolder::open(out).started();
  std::vector<TrialResult> tried;
  if (goes_on) {
    take_tried_settings(modality, *record, RunFolder::open(out).config(), config);
  } else if (!config.model.init_from.empty() && RunFolder::is_run(config.model.init_from)) {
    // Its weights want its shapes.
    take_tried_settings(modality, *record, RunFolder::open(config.model.init_from).config(), config);
  } else {
    tried = settle_by_trials(modality, dataset, *record, machine, stop, config);
    if (stop) return false;
  }
  if (modality.trials(config, *record).refits) {
    const LogPause what_fitting_said_before;
    record = modality.fit(*dataset, config);
  }
  modality.measure(*record, *dataset, config, machine, stored_record(modality, out, resume).get());
  Lesson lesson;
  if (!config.distill.from.empty()) {
    lesson = ask_run(modalities, config.distill, dataset, *record, machine);
  } else if (learns_from_dense && !goes_on) {
    std::optional<Lesson> said = ask_dense_model(modality, config, dataset, *record, machine, stop);
    if (!said) return false;
    lesson = std::move(*said);
  }
  const torch::Dtype dtype = dtype_of(config.train.precision);
  const std::shared_ptr<Model> model = modality.make_model(*record, config, static_cast<uint64_t>(config.train.seed));
  modality.start(*model, config);
  const bool from_checkpoint = resume && std::filesystem::exists(out / "checkpoint" / "state.safetensors");
  if (!config.model.init_from.empty() && !from_checkpoint) {
    try {
      start_from(config.model.init_from, modality, *model);
    } catch (const UserError& error) {
      throw UserError(fmt::format("model.init_from = {}: {}", config.model.init_from, error.what()));
    }
  }
  place(*model, machine.device, dtype);
  log_info(modality.describe(*dataset, *record, *model));
  // What does not fit together is refused here, before there is a folder.
  const std::unique_ptr<Task> task = modality.make_task(dataset, *record, model, config, machine);
  task->label_smoothing = config.train.label_smoothing;
  const torch::Tensor class_weights = weights_of_classes(config.train, record->class_names(), record->rows_of_classes());
  if (class_weights.defined()) task->class_weights = class_weights.to(machine.device, dtype);
  teach(*task, lesson, config.distill, *model);
  RunFolder folder = open_folder(modality, config, out, resume, *record, machine);
  if (folder.finished()) {
    log_info(fmt::format("{} is finished already", out.string()));
    return true;
  }
  if (!tried.empty()) folder.write_json(folder.trials(), to_json(tried));
  if (learns_from_dense && goes_on) {
    teach(*task, kept_lesson(folder), config.distill, *model);  // only now is it known to be a run of this configuration
  } else if (learns_from_dense) {
    keep_lesson(lesson, folder);
  }
  Trainer trainer(model, *task, config, folder);
  if (!folder.started()) folder.set_started();
  if (resume) trainer.resume();
  if (end_here) {
    trainer.end_here();
  } else if (!trainer.run(observers, stop)) {
    return false;
  }
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  return finish(folder, config, *task, *model, trainer, seconds.count(), stop);
}

}  // namespace l0gm
