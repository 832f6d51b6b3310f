#include "training/table_run.h"

#include <ATen/Functions.h>
#include <fmt/format.h>

#include <chrono>
#include <nlohmann/json.hpp>

#include "base/hash.h"
#include "base/log.h"
#include "base/text.h"
#include "data/table/fit.h"
#include "data/table/source.h"
#include "data/table/statistics.h"
#include "l0gm/error.h"

namespace l0gm {

namespace {

torch::Tensor balanced_weights(const EncodedTable& train, size_t classes) {
  std::vector<double> weight(classes, 0);
  for (const int32_t label : train.labels) weight[static_cast<size_t>(label)] += 1;
  const auto rows = static_cast<double>(train.labels.size());
  for (double& w : weight) w = rows / (static_cast<double>(classes) * w);
  return at::tensor(weight, torch::kFloat64);
}

// The resolved configurations must agree; the first option that differs is named with both values.
void require_same_config(Config given, const std::filesystem::path& path) {
  if (to_toml(given) == read_file(path)) return;
  Config stored = read_config(path, {});
  const nlohmann::json now = OptionList::of(given).json(), then = OptionList::of(stored).json();
  nlohmann::json keys = now;
  keys.update(then);
  const auto told = [](const nlohmann::json& options, const std::string& key) { return options.contains(key) ? options[key].dump() : "unset"; };
  for (const auto& [key, unused] : keys.items()) {
    if (told(now, key) == told(then, key)) continue;
    throw UserError(fmt::format("--resume: the configuration is not that of {}: {} = {}, there {}. Give the same one, or choose another --out.",
                                path.string(), key, told(now, key), told(then, key)));
  }
}

void require_unchanged(const LoadedRun& run, const TableDataset& data) {
  for (size_t i = 0; i < std::max(data.files.size(), run.table.files.size()); ++i) {
    const bool same = i < data.files.size() && i < run.table.files.size() && data.files[i].sha256 == run.table.files[i].sha256;
    if (same) continue;
    const std::string file = i < data.files.size() ? data.files[i].path.string() : run.table.files[i].path.string();
    throw UserError(fmt::format("{} has changed since {} was trained: figures would not belong to that run. Restore the file or train again; "
                                "`l0gm predict` takes any file.", file, run.folder.path().string()));
  }
}

// The same bytes may lie elsewhere by now: paths do not count.
void require_same_data(TableRecord stored, TableRecord given, const std::filesystem::path& out) {
  for (FileStamp& file : stored.files) file.path.clear();
  for (FileStamp& file : given.files) file.path.clear();
  if (stored.teacher != given.teacher) {
    throw UserError(fmt::format("--resume: the teacher's weights (distill.from) are not those that {} was started with", out.string()));
  }
  if (stored.to_json() != given.to_json()) {
    throw UserError(fmt::format("--resume: the data differs from what {} was started with", out.string()));
  }
}

// Going on is bit for bit on one machine and thread count; elsewhere it is merely going on.
void warn_of_another_machine(const nlohmann::json& then, const nlohmann::json& now) {
  for (const char* key : {"l0gm", "libtorch", "device", "cpu_capability", "threads"}) {
    if (!then.contains(key) || then[key] == now[key]) continue;
    log_warning(fmt::format("--resume: {} is {} now and was {} when the run was started: the result will not be equal bit for bit", key,
                            now[key].dump(), then[key].dump()));
  }
}

RunFolder open_folder(const Config& config, const std::filesystem::path& out, bool resume, const TableRecord& record,
                      const Machine& machine) {
  const std::string toml = to_toml(config);
  if (resume && RunFolder::is_run(out)) {
    RunFolder folder = RunFolder::open(out);
    if (folder.started()) {
      folder.lock();
      require_same_config(config, folder.config());
      require_same_data(TableRecord::from_json(folder.read_json(folder.schema())), record, out);
      warn_of_another_machine(folder.read_json(folder.environment()), describe_environment(machine, config.train.seed));
      return folder;
    }
  }
  RunFolder folder = RunFolder::create(out);
  folder.lock();
  folder.write_sealed(folder.config(), toml);
  folder.write_sealed(folder.schema(), record.to_json().dump(1) + "\n");
  folder.write_json(folder.environment(), describe_environment(machine, config.train.seed));
  return folder;
}

// Where gates stand after training. With top-k and no schedule nothing was hardened: the share that may pass still counts.
GateState final_state(const Config& config, const Model& model) {
  return GateControl(config.gate, model.sites()).state(Schedule(config.schedule).at(1));
}

struct Prepared {
  TableRecord record;
  EncodedTable train, valid;
  torch::Tensor soft_labels;  // of the training rows; undefined: none
};

EncodedTable encode_training(const TableDataset& data, const Schema& schema) {
  EncodedTable rows = encode_rows(data.table, RowEncoder(schema), data.train, true);
  fill_out_of_fold(schema, rows);
  return rows;
}

std::string hash_of_rows(const std::vector<int64_t>& rows) {
  return sha256({reinterpret_cast<const char*>(rows.data()), rows.size() * sizeof(int64_t)});
}

// What another run says of our training rows, [rows, classes]. It must have been trained on these very rows: another split's model
// would have seen our validation rows.
torch::Tensor soft_labels(const DistillOptions& options, const TableDataset& data, const Schema& schema, const Machine& machine) {
  LoadedRun teacher = load_run(options.from, machine);
  const TableRecord& its = teacher.table;
  if (its.dataset == data.name) require_unchanged(teacher, data);
  if (its.dataset != data.name || its.training_rows != hash_of_rows(data.train)) {
    throw UserError(fmt::format("it was trained on {}{}, this run is on {}: the teacher must be of the same data, split and seed", its.dataset,
                                its.dataset == data.name ? " with other training rows" : "", data.name));
  }
  if (its.schema.label != schema.label || its.schema.classes != schema.classes) {
    throw UserError(fmt::format("it tells '{}' ({} classes), this run '{}' ({}): both must have the same label and classes", its.schema.label,
                                its.schema.classes.size(), schema.label, schema.classes.size()));
  }
  const TableTensors rows(encode_training(data, teacher.table.schema), machine.device, dtype_of(teacher.config.train.precision));
  const Predictions predictions = predict_table(*teacher.model, teacher.gate_state, rows, teacher.table.schema.classes);
  log_info(fmt::format("soft labels of {} rows from {}", with_thousands(rows.rows()), options.from));
  return at::tensor(predictions.probabilities, torch::kFloat64).view({rows.rows(), -1});
}

Prepared prepare(const Config& config, const Machine& machine) {
  const TableDataset data = load_table(config.data, config.train.seed);
  if (data.train.empty() || data.valid.empty()) {
    throw UserError(fmt::format("{} has {} training and {} validation rows: both are needed", data.name, data.train.size(), data.valid.size()));
  }
  Prepared prepared;
  Schema schema = fit_schema(data.table, data.label, data.train, config.table, config.columns, config.data.types);
  check_labels(data.table, data.label, schema.classes, schema.missing_marks, data.valid, "validation");
  check_labels(data.table, data.label, schema.classes, schema.missing_marks, data.test, "test");
  prepared.train = encode_rows(data.table, RowEncoder(schema), data.train, true);
  fit_statistics(schema, prepared.train, config.table);
  prepared.valid = encode_rows(data.table, RowEncoder(schema), data.valid, true);
  prepared.record = {schema, count_fields(prepared.train, schema), data.name, data.files, data.planted, data.bayes_auc, data.bayes_nll,
                     hash_of_rows(data.train), ""};
  if (!config.distill.from.empty()) {
    try {
      prepared.soft_labels = soft_labels(config.distill, data, schema, machine);
    } catch (const UserError& error) {
      throw UserError(fmt::format("distill.from = {}: {}", config.distill.from, error.what()));
    }
    prepared.record.teacher = sha256_file(RunFolder::open(config.distill.from).best());
  }
  return prepared;
}

void finish(RunFolder& folder, const Config& config, Task& task, Model& model, const Trainer& trainer, const GateState& state,
            double seconds) {
  const TrainerState& stood = trainer.state();
  const TensorFile best = load_tensors(folder.best());
  copy_into(best.tensors, named(model), folder.best().string());
  const Predictions valid = task.predict(model, state, "valid");
  write_predictions(folder.predictions("valid"), valid);
  const Calibrator calibrator = fit_calibrator(valid, config.train.calibrator);
  folder.write_json(folder.summary(), {{"best_step", stood.best_step}, {"best_valid_nll", stood.best_nll}, {"steps", stood.step},
                                       {"stopped_early", stood.stopped_early}, {"hardened", stood.hardened},
                                       {"projected_units", stood.hardening.projected_units}, {"converged", stood.hardening.converged},
                                       {"calibrator", calibrator.to_json()}, {"seconds", seconds}});
  folder.set_finished();
}

}  // namespace

torch::Dtype dtype_of(Precision precision) { return precision == Precision::float64 ? torch::kFloat64 : torch::kFloat32; }

bool train_table(const Config& config, const std::filesystem::path& out, bool resume, const Machine& machine,
                 const std::vector<Observer*>& observers, const std::atomic<bool>& stop) {
  const auto start = std::chrono::steady_clock::now();
  const Prepared prepared = prepare(config, machine);
  const Schema& schema = prepared.record.schema;
  RunFolder folder = open_folder(config, out, resume, prepared.record, machine);
  if (folder.finished()) {
    log_info(fmt::format("{} is finished already", out.string()));
    return true;
  }
  const auto seed = static_cast<uint64_t>(config.train.seed);
  const torch::Dtype dtype = dtype_of(config.train.precision);
  std::shared_ptr<Model> model = make_table_model(schema, prepared.record.counts, table_model_options(config), config.gate, seed);
  place(*model, machine.device, dtype);
  TableTask task(schema, config.train.batch, seed);
  task.add_split("train", prepared.train, machine.device, dtype);
  task.add_split("valid", prepared.valid, machine.device, dtype);
  task.label_smoothing = config.train.label_smoothing;
  if (prepared.soft_labels.defined()) {
    task.set_soft_targets(prepared.soft_labels);
    task.distill_weight = config.distill.weight;
    task.distill_temperature = config.distill.temperature;
  }
  if (config.train.class_weights == ClassWeights::balanced) {
    task.class_weights = balanced_weights(prepared.train, schema.classes.size()).to(machine.device, dtype);
  }
  log_info(fmt::format("{}: {} training rows, {} columns, {} fields, interface of {} dimensions, {} parameters", prepared.record.dataset,
                       with_thousands(prepared.train.rows()), schema.columns.size(), schema.fields.size(), model->encoder().width(),
                       with_thousands(model->parameter_count())));
  Trainer trainer(model, task, config, folder);
  if (!folder.started()) folder.set_started();
  if (resume) trainer.resume();
  if (!trainer.run(observers, stop)) return false;
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  finish(folder, config, task, *model, trainer, final_state(config, *model), seconds.count());
  return true;
}

LoadedRun load_run(const std::filesystem::path& path, const Machine& machine) {
  LoadedRun run{RunFolder::open(path), {}, {}, nullptr, {}, {}};
  run.folder.require_finished();
  run.config = read_config(run.folder.config(), {});
  run.table = TableRecord::from_json(run.folder.read_json(run.folder.schema()));
  run.model = make_table_model(run.table.schema, run.table.counts, table_model_options(run.config), run.config.gate, 0);
  place(*run.model, machine.device, dtype_of(run.config.train.precision));
  copy_into(load_tensors(run.folder.best()).tensors, named(*run.model), run.folder.best().string());
  run.model->eval();
  run.gate_state = final_state(run.config, *run.model);
  const nlohmann::json summary = run.folder.read_json(run.folder.summary());
  if (!summary.contains("calibrator")) throw UserError(run.folder.summary().string() + " is damaged: it names no calibrator");
  run.calibrator = Calibrator::from_json(summary["calibrator"]);
  return run;
}

TableDataset load_dataset(const LoadedRun& run) {
  TableDataset data = load_table(run.config.data, run.config.train.seed);
  require_unchanged(run, data);
  return data;
}

EncodedTable load_split(const LoadedRun& run, const std::string& split) {
  const TableDataset data = load_dataset(run);
  if (split == "train") return encode_training(data, run.table.schema);
  const std::vector<int64_t>& rows = split == "valid" ? data.valid : data.test;
  if (rows.empty()) throw UserError(fmt::format("{} has no {} rows", data.name, split));
  return encode_rows(data.table, RowEncoder(run.table.schema), rows, true);
}

}  // namespace l0gm
