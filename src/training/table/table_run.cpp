#include "training/table/table_run.h"

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

// The same bytes may lie elsewhere by now: paths do not count.
void require_same_data(TableRecord stored, TableRecord given, const std::filesystem::path& out) {
  for (FileStamp& file : stored.files) file.path.clear();
  for (FileStamp& file : given.files) file.path.clear();
  if (stored.teacher != given.teacher) {
    throw UserError(
        fmt::format("--resume: the teacher's weights (distill.from) are not those that {} was started with", out.string()));
  }
  if (stored.to_json() != given.to_json()) {
    throw UserError(fmt::format("--resume: the data differs from what {} was started with", out.string()));
  }
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

// What another run says of our training rows, [rows, classes]. It must have been trained on these very rows: another split's
// model would have seen our validation rows.
torch::Tensor soft_labels(const DistillOptions& options, const TableDataset& data, const Schema& schema, const Machine& machine) {
  LoadedTable teacher = load_table_run(options.from, machine);
  const TableRecord& its = teacher.table;
  if (its.dataset == data.name) require_unchanged(teacher.folder, its.files, data.files);
  if (its.dataset != data.name || its.training_rows != sha256(data.train)) {
    throw UserError(fmt::format("it was trained on {}{}, this run is on {}: the teacher must be of the same data, split and seed",
                                its.dataset, its.dataset == data.name ? " with other training rows" : "", data.name));
  }
  if (its.schema.label != schema.label || its.schema.classes != schema.classes) {
    throw UserError(fmt::format("it tells '{}' ({} classes), this run '{}' ({}): both must have the same label and classes",
                                its.schema.label, its.schema.classes.size(), schema.label, schema.classes.size()));
  }
  const TableTensors rows(encode_training(data, teacher.table.schema), machine.device, dtype_of(teacher.config.train.precision));
  const Predictions predictions = predict_table(*teacher.model, teacher.gate_state, rows, teacher.table.schema.classes);
  log_info(fmt::format("soft labels of {} rows from {}", with_thousands(rows.rows()), options.from));
  return at::tensor(predictions.probabilities, torch::kFloat64).view({rows.rows(), -1});
}

Prepared prepare(const Config& config, const Machine& machine) {
  const TableDataset data = load_table(config.data, config.train.seed);
  if (data.train.empty() || data.valid.empty()) {
    throw UserError(fmt::format("{} has {} training and {} validation rows: both are needed", data.name, data.train.size(),
                                data.valid.size()));
  }
  Prepared prepared;
  Schema schema = fit_schema(data.table, data.label, data.train, config.table, config.columns, config.data.types);
  check_labels(data.table, data.label, schema.classes, schema.missing_marks, data.valid, "validation");
  check_labels(data.table, data.label, schema.classes, schema.missing_marks, data.test, "test");
  prepared.train = encode_rows(data.table, RowEncoder(schema), data.train, true);
  fit_statistics(schema, prepared.train, config.table);
  prepared.valid = encode_rows(data.table, RowEncoder(schema), data.valid, true);
  prepared.record = {schema,
                     count_fields(prepared.train, schema),
                     data.name,
                     data.files,
                     data.planted,
                     data.bayes_auc,
                     data.bayes_nll,
                     sha256(data.train),
                     ""};
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

}  // namespace

bool train_table(const Config& config, const std::filesystem::path& out, bool resume, const Machine& machine,
                 const std::vector<Observer*>& observers, const std::atomic<bool>& stop) {
  const auto start = std::chrono::steady_clock::now();
  const Prepared prepared = prepare(config, machine);
  const Schema& schema = prepared.record.schema;
  const auto same_data = [&](const nlohmann::json& stored) {
    require_same_data(TableRecord::from_json(stored), prepared.record, out);
  };
  RunFolder folder = open_run(config, out, resume, prepared.record.to_json(), same_data, machine);
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
  if (prepared.soft_labels.defined()) {
    task.set_soft_targets(prepared.soft_labels);
    task.distill_weight = config.distill.weight;
    task.distill_temperature = config.distill.temperature;
  }
  if (config.train.class_weights == ClassWeights::balanced) {
    task.class_weights = balanced_weights(schema.class_rows).to(machine.device, dtype);
  }
  log_info(fmt::format("{}: {} training rows, {} columns, {} fields, interface of {} dimensions, {} parameters",
                       prepared.record.dataset, with_thousands(prepared.train.rows()), schema.columns.size(),
                       schema.fields.size(), model->encoder().width(), with_thousands(model->parameter_count())));
  return fit(folder, config, model, task, resume, observers, stop, start);
}

LoadedTable load_table_run(const std::filesystem::path& path, const Machine& machine) {
  LoadedTable run{{RunFolder::open(path), {}, nullptr, {}, {}}, {}};
  run.folder.require_finished();
  run.config = read_config(run.folder.config(), {});
  if (is_graph(run.config)) throw UserError(fmt::format("{} is a run on a graph, and a table's is wanted here", path.string()));
  run.table = TableRecord::from_json(run.folder.read_json(run.folder.schema()));
  run.model = make_table_model(run.table.schema, run.table.counts, table_model_options(run.config), run.config.gate, 0);
  load_result(run, machine);
  return run;
}

TableDataset load_dataset(const LoadedTable& run) {
  TableDataset data = load_table(run.config.data, run.config.train.seed);
  require_unchanged(run.folder, run.table.files, data.files);
  return data;
}

EncodedTable load_split(const LoadedTable& run, const std::string& split) {
  const TableDataset data = load_dataset(run);
  if (split == "train") return encode_training(data, run.table.schema);
  const std::vector<int64_t>& rows = split == "valid" ? data.valid : data.test;
  if (rows.empty()) throw UserError(fmt::format("{} has no {} rows", data.name, split));
  return encode_rows(data.table, RowEncoder(run.table.schema), rows, true);
}

}  // namespace l0gm
