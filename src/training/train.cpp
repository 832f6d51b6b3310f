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
#include "training/trainer.h"
#include "training/trials.h"

namespace l0gm {

namespace {

// The options of a configuration but for paths: what lies there is compared by its bytes.
nlohmann::json without_paths(Config& config) {
  const OptionList options = OptionList::of(config);
  nlohmann::json json = options.json();
  for (const Option& option : options.options()) {
    if (option.is_path) json.erase(option.key);
  }
  return json;
}

// The resolved configurations must agree; the first option that differs is named with both values.
void require_same_config(const Modality& modality, Config given, const std::filesystem::path& path) {
  if (to_toml(given) == read_file(path)) return;
  Config stored = read_run_config(modality, path);
  const nlohmann::json now = without_paths(given), then = without_paths(stored);
  nlohmann::json keys = now;
  keys.update(then);
  const auto shown = [](const nlohmann::json& options, const std::string& key) {
    return options.contains(key) ? options[key].dump() : "unset";
  };
  for (const auto& [key, unused] : keys.items()) {
    if (shown(now, key) == shown(then, key)) continue;
    throw UserError(fmt::format(
        "--resume: the configuration is not that of {}: {} = {}, there {}. Give the same one, or choose another --out.",
        path.string(), key, shown(now, key), shown(then, key)));
  }
}

// Resuming is bit for bit on one machine and thread count; elsewhere the result differs by rounding.
void warn_of_another_machine(const nlohmann::json& then, const nlohmann::json& now) {
  for (const char* key : {"l0gm", "libtorch", "device", "cpu_capability", "threads"}) {
    if (!then.contains(key) || then[key] == now[key]) continue;
    log_warning(
        fmt::format("--resume: {} is {} now and was {} when the run was started: the result will not be equal bit for bit", key,
                    now[key].dump(), then[key].dump()));
  }
}

// The same bytes may lie elsewhere by now: paths do not count.
nlohmann::json without_file_paths(nlohmann::json record) {
  for (auto& file : record.at("files")) file.erase("path");
  return record;
}

void require_same_data(const nlohmann::json& stored, const Record& given, const std::filesystem::path& out) {
  if (stored.value("teacher", "") != given.teacher) {
    throw UserError(
        fmt::format("--resume: the teacher's weights (distill.from) are not those that {} was started with", out.string()));
  }
  if (without_file_paths(stored) != without_file_paths(given.to_json())) {
    throw UserError(fmt::format("--resume: the data differs from what {} was started with", out.string()));
  }
}

// Of a run that is resumed; nullptr: there is none.
std::unique_ptr<Record> stored_record(const Modality& modality, const std::filesystem::path& out, bool resume) {
  if (!resume || !RunFolder::is_run(out)) return nullptr;
  const RunFolder folder = RunFolder::open(out);
  return folder.started() ? modality.read_record(folder.read_json(folder.schema())) : nullptr;
}

// A new folder with configuration and record in it, locked; or, with `resume`, the one that is there, of the same configuration
// and data.
RunFolder open_folder(const Modality& modality, const Config& config, const std::filesystem::path& out, bool resume,
                      const Record& record, const Machine& machine) {
  const nlohmann::json environment = describe_environment(machine, config.train.seed);
  if (resume && RunFolder::is_run(out)) {
    RunFolder folder = RunFolder::open(out);
    if (folder.started()) {
      folder.lock();
      require_same_config(modality, config, folder.config());
      require_same_data(modality.read_record(folder.read_json(folder.schema()))->to_json(), record, out);
      warn_of_another_machine(folder.read_json(folder.environment()), environment);
      return folder;
    }
  }
  RunFolder folder = RunFolder::create(out, std::string(modality.name()));
  folder.lock();
  folder.write_sealed(folder.config(), to_toml(config));
  folder.write_sealed(folder.schema(), record.to_json().dump(1) + "\n");
  folder.write_json(folder.environment(), environment);
  return folder;
}

// What another run says of our training rows.
struct Lesson {
  Predictions soft;
  torch::Tensor states;  // undefined: not asked for
};

// It must have been trained on these very rows: another split's model would have seen our validation rows.
Lesson ask_teacher(const Modalities& modalities, const DistillOptions& options, const std::shared_ptr<Dataset>& dataset,
                   const Record& record, const Machine& machine) {
  const std::unique_ptr<Run> teacher = open_run(modalities, options.from, machine);
  const Record& its = teacher->record();
  if (its.dataset == record.dataset) require_unchanged(teacher->folder, its.files, record.files);
  if (its.dataset != record.dataset || its.training_rows != record.training_rows) {
    throw UserError(fmt::format("it was trained on {}{}, this run is on {}: the teacher must be of the same data, split and seed",
                                its.dataset, its.dataset == record.dataset ? " with other training rows" : "", record.dataset));
  }
  if (its.label() != record.label() || its.class_names() != record.class_names()) {
    throw UserError(fmt::format("it tells '{}' ({} classes), this run '{}' ({}): both must have the same label and classes",
                                its.label(), its.class_names().size(), record.label(), record.class_names().size()));
  }
  teacher->share(dataset);
  Lesson lesson{teacher->predict(Split::train), {}};
  log_info(fmt::format("soft labels of {} rows from {}", with_thousands(lesson.soft.size()), options.from));
  if (options.hidden_weight <= 0) return lesson;
  lesson.states = teacher->interface_of(Split::train);
  if (!lesson.states.defined()) throw UserError("distill.hidden_weight is for texts: a run of this kind tells no states");
  return lesson;
}

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

void finish(RunFolder& folder, const Config& config, Task& task, Model& model, const Trainer& trainer, double seconds) {
  const TrainerState& stood = trainer.state();
  copy_into(load_tensors(folder.best()).tensors, model.state(), folder.best().string());
  std::filesystem::remove(folder.trees());  // of an end that was interrupted
  task.complete(model, final_state(config, model), folder);
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
    try {
      lesson = ask_teacher(modalities, config.distill, dataset, *record, machine);
    } catch (const UserError& error) {
      throw UserError(fmt::format("distill.from = {}: {}", config.distill.from, error.what()));
    }
    record->teacher = sha256_file(RunFolder::open(config.distill.from).best());
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
  if (lesson.soft.size() > 0) {
    task->set_soft_targets(lesson.soft);
    task->distill_weight = config.distill.weight;
    task->distill_temperature = config.distill.temperature;
  }
  if (lesson.states.defined()) {
    if (lesson.states.size(1) != model->encoder().width()) {
      throw UserError(
          fmt::format("distill.from = {}: its interface has {} dimensions and this model's {}: without "
                      "distill.hidden_weight both may differ",
                      config.distill.from, lesson.states.size(1), model->encoder().width()));
    }
    task->set_hidden_targets(lesson.states, config.distill.hidden_weight);
  }
  RunFolder folder = open_folder(modality, config, out, resume, *record, machine);
  if (folder.finished()) {
    log_info(fmt::format("{} is finished already", out.string()));
    return true;
  }
  if (!tried.empty()) folder.write_json(folder.trials(), to_json(tried));
  Trainer trainer(model, *task, config, folder);
  if (!folder.started()) folder.set_started();
  if (resume) trainer.resume();
  if (end_here) {
    trainer.end_here();
  } else if (!trainer.run(observers, stop)) {
    return false;
  }
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  finish(folder, config, *task, *model, trainer, seconds.count());
  return true;
}

}  // namespace l0gm
