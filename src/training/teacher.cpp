#include "training/teacher.h"

#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/hash.h"
#include "base/log.h"
#include "base/text.h"
#include "l0gm/error.h"
#include "training/aside.h"
#include "training/run.h"

namespace l0gm {
namespace {

// It must have been trained on these very rows: another split's model would have seen our validation rows.
void require_same_rows(const Run& teacher, const Record& record) {
  const Record& its = teacher.record();
  if (its.dataset == record.dataset) require_unchanged(teacher.folder, its.files, record.files);
  if (its.dataset != record.dataset || its.training_rows != record.training_rows) {
    throw UserError(fmt::format("it was trained on {}{}, this run is on {}: the teacher must be of the same data, split and seed",
                                its.dataset, its.dataset == record.dataset ? " with other training rows" : "", record.dataset));
  }
  if (its.label() != record.label() || its.class_names() != record.class_names()) {
    throw UserError(fmt::format("it tells '{}' ({} classes), this run '{}' ({}): both must have the same label and classes",
                                its.label(), its.class_names().size(), record.label(), record.class_names().size()));
  }
}

Config dense_config(Config config) {
  const std::map<std::string, std::string> settings = std::exchange(config.distill, {}).settings;
  config.gate.unit = UnitKind::none;
  config.prune = {};
  OptionList options = OptionList::of(config);
  for (const auto& [key, value] : settings) {
    for (const char* part : {"data.", "table.", "columns.", "gate.", "distill.", "serve.", "model.init_from"}) {
      if (!key.starts_with(part)) continue;
      throw UserError(
          fmt::format("distill.settings names '{}': the teacher reads what its pupil reads, starts anew, and has no gate and no "
                      "teacher. A run of its own may be named with distill.from.",
                      key));
    }
    options.set(fmt::format("{}={}", key, value));
  }
  return config;
}

}  // namespace

void check_dense_teacher(const Modality& modality, const Config& config) {
  check_model_name(modality, dense_config(config).model.name);
}

Lesson ask_run(const Modalities& modalities, const DistillOptions& options, const std::shared_ptr<Dataset>& dataset,
               Record& record, const Machine& machine) {
  try {
    const std::unique_ptr<Run> teacher = open_run(modalities, options.from, machine);
    require_same_rows(*teacher, record);
    teacher->share(dataset);
    Lesson lesson{teacher->predict(Split::train), {}};
    log_info(fmt::format("soft labels of {} rows from {}", with_thousands(lesson.soft.size()), options.from));
    if (options.hidden_weight > 0) {
      lesson.states = teacher->interface_of(Split::train);
      if (!lesson.states.defined()) throw UserError("distill.hidden_weight is for texts: a run of this kind tells no states");
    }
    record.teacher = sha256_file(teacher->folder.best());
    return lesson;
  } catch (const UserError& error) {
    throw UserError(fmt::format("distill.from = {}: {}", options.from, error.what()));
  }
}

std::optional<Lesson> ask_dense_model(const Modality& modality, const Config& config, const std::shared_ptr<Dataset>& dataset,
                                      const Record& record, const Machine& machine, const std::atomic<bool>& stop) {
  std::optional<AsideModel> teacher;
  try {
    teacher = train_aside(modality, dataset, record, dense_config(config), machine, stop);
  } catch (const DiskFull&) {
    throw;  // has an exit code of its own
  } catch (const UserError& error) {
    throw UserError(fmt::format("distill.dense: the dense model that is trained first: {}", error.what()));
  }
  if (!teacher) return std::nullopt;
  log_info(
      fmt::format("a dense model was trained first, its validation loss is {:.4f}: the gated one learns from its probabilities, "
                  "too",
                  teacher->best_valid_nll));
  const GateState state = final_state(teacher->config, *teacher->model);
  return Lesson{teacher->task->predict(*teacher->model, state, Split::train), {}};
}

void keep_lesson(const Lesson& lesson, RunFolder& folder) {
  write_predictions(folder.teacher(), lesson.soft);
  folder.write_sealed(folder.teacher(), read_file(folder.teacher()));
}

Lesson kept_lesson(const RunFolder& folder) { return {read_predictions(folder.teacher()), {}}; }

void teach(Task& task, const Lesson& lesson, const DistillOptions& options, const Model& model) {
  if (lesson.soft.size() > 0) {
    task.set_soft_targets(lesson.soft);
    task.distill_weight = options.weight;
    task.distill_temperature = options.temperature;
  }
  if (!lesson.states.defined()) return;
  if (lesson.states.size(1) != model.encoder().width()) {
    throw UserError(
        fmt::format("distill.from = {}: its interface has {} dimensions and this model's {}: without "
                    "distill.hidden_weight both may differ",
                    options.from, lesson.states.size(1), model.encoder().width()));
  }
  task.set_hidden_targets(lesson.states, options.hidden_weight);
}

}  // namespace l0gm
