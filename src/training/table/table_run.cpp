#include "training/table/table_run.h"

#include <ATen/Functions.h>
#include <c10/core/InferenceMode.h>
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>

#include "base/csv.h"
#include "base/hash.h"
#include "base/log.h"
#include "data/table/grown_trees.h"
#include "data/table/perturb.h"
#include "data/table/source.h"
#include "data/table/statistics.h"
#include "l0gm/error.h"
#include "training/gate_report.h"
#include "training/table/column_worth.h"
#include "training/table/planted_sets.h"
#include "training/table/table_modality.h"
#include "training/table/table_task.h"

namespace l0gm {

namespace fs = std::filesystem;

namespace {

constexpr int64_t block = 4096;  // rows whose gates are asked for at a time

// Removes the copy when its evaluation ends, however that is, and the folder after the last one.
struct RemovedFile {
  fs::path path;
  bool keep;
  ~RemovedFile() {
    std::error_code ignored;
    if (keep) return;
    fs::remove(path, ignored);
    fs::remove(path.parent_path(), ignored);  // fails, as it should, while there is anything in it
  }
};

// Trees know the training rows by heart: what is said of these is the net's alone.
bool trees_speak_of(Split split) { return split != Split::train; }

const std::vector<int64_t>& rows_of(const TableDataset& data, Split split) {
  const std::vector<int64_t>& rows = split == Split::train ? data.train : split == Split::valid ? data.valid : data.test;
  if (rows.empty()) throw UserError(fmt::format("{} has no {} rows", data.name, name_of_enum(split)));
  return rows;
}

}  // namespace

TableRun::TableRun(const fs::path& path, const Machine& its_machine) : Run(TableModality(), path, its_machine) {
  table = TableRecord::from_json(folder.read_json(folder.schema()));
  attach_kept_trees();
  model = TableModality().make_model(table, config, 0);
  load_weights();
}

void TableRun::attach_kept_trees() {
  const nlohmann::json summary = folder.read_json(folder.summary());
  if (!summary.contains("trees_sha256")) return;
  if (!fs::exists(folder.trees()) || sha256_file(folder.trees()) != summary["trees_sha256"].get<std::string>()) {
    throw UserError(fmt::format("{} is not what the run wrote: it is absent or was changed. Restore it or train again.",
                                folder.trees().string()));
  }
  attach_trees(table.schema, grown_from_json(folder.read_json(folder.trees()), table.schema));
}

const TableDataset& TableRun::dataset() {
  if (dataset_ == nullptr) {
    auto read = std::make_shared<TableData>(load_table(config.data, config.train.seed));
    require_unchanged(folder, table.files, read->data.files);
    dataset_ = std::move(read);
  }
  return dynamic_cast<const TableData&>(*dataset_).data;
}

EncodedTable TableRun::encoded(Split split) {
  const TableDataset& data = dataset();
  EncodedTable rows = encode_rows(data.table, RowEncoder(table.schema), rows_of(data, split), true);
  if (split == Split::train) fill_out_of_fold(table.schema, rows, &data.table);
  return rows;
}

const TableTensors& TableRun::tensors(Split split) {
  const auto found = tensors_.find(split);
  if (found != tensors_.end()) return found->second;
  return tensors_.emplace(split, TableTensors(encoded(split), machine.device, dtype_of(config.train.precision))).first->second;
}

Predictions TableRun::predict(Split split) {
  return predict_table(*model, gate_state, tensors(split), table.schema, trees_speak_of(split));
}

PerturbedPredictions TableRun::predict_perturbed(Split split, const Perturbation& perturbation, bool keep_file) {
  const TableDataset& data = dataset();
  const std::vector<int64_t>& numbers = rows_of(data, split);
  const std::string file = fmt::format("{}-{}.csv", name_of_enum(split), perturbation.name);
  const RemovedFile copy{folder.path() / "perturbed" / file, keep_file};
  const Perturber perturber(table.schema, data.table.names(), perturbation, static_cast<uint64_t>(config.train.seed));
  const std::string sha256 = write_numbered_rows(data.table, numbers, copy.path, &perturber);
  log_info(fmt::format("{}: {} rows, SHA-256 {}", copy.path.string(), numbers.size(), sha256));
  const TextTable text = read_csv(copy.path, {});
  std::vector<int64_t> rows(static_cast<size_t>(text.rows()));
  std::iota(rows.begin(), rows.end(), int64_t{0});
  EncodedTable perturbed = encode_rows(text, RowEncoder(table.schema), rows, true);
  perturbed.row_numbers = numbers;  // of the dataset, not of the copy
  const TableTensors on_device(std::move(perturbed), machine.device, dtype_of(config.train.precision));
  return {predict_table(*model, gate_state, on_device, table.schema, trees_speak_of(split)), sha256};
}

torch::Tensor TableRun::gates_by_row(Split split) {
  c10::InferenceMode inference;
  const TableTensors& rows = tensors(split);
  const int64_t width = model->encoder().width();
  std::vector<torch::Tensor> parts;
  for (int64_t begin = 0; begin < rows.rows(); begin += block) {
    const auto batch = rows.range(begin, std::min(rows.rows(), begin + block));
    GatePass pass = GatePass::evaluation(gate_state, batch->example_ids);
    model->forward(*batch, pass);
    const GateSite* site = model->interface_site();
    const torch::Tensor gates = site == nullptr ? at::ones({width}) : pass.record(*site)->gated.gates.cpu();
    parts.push_back(gates.expand({batch->codes.size(0), width}));
  }
  return at::cat(parts);
}

GateReport TableRun::gates(Split split) {
  return report_gates(*this, [&] { return gates_by_row(split); });
}

torch::Tensor TableRun::share_of_dimension(Split split) {
  c10::InferenceMode inference;
  const GateSite* site = model->interface_site();
  if (site == nullptr || !site->gate->has_instance_logits()) return model->open_dimensions(gate_state).to(torch::kFloat64);
  return gates_by_row(split).gt(0).to(torch::kFloat64).mean(0);
}

std::vector<bool> TableRun::columns_of_trees() const {
  std::vector<bool> read(table.schema.columns.size(), false);
  for (const TreeInput& input : table.schema.trees.inputs)
    for (const int64_t column : table.schema.columns_of(input)) read[static_cast<size_t>(column)] = true;
  return read;
}

std::optional<InputReport> TableRun::inputs(Split split) {
  const auto read = fields().columns_of_dimension();
  const auto names = fields().column_names();
  const torch::Tensor shares = share_of_dimension(split).contiguous();
  std::vector<OpenInput> columns(names.size());
  for (size_t d = 0; d < read.size(); ++d) {
    const double open = shares.data_ptr<double>()[d];
    for (const int64_t column : read[d]) {
      OpenInput& input = columns[static_cast<size_t>(column)];
      input.open_dimensions += open > 0 ? 1 : 0;
      input.share_of_rows = std::max(input.share_of_rows.value_or(0), open);
    }
  }
  const std::vector<bool> in_trees = columns_of_trees();
  InputReport report{static_cast<int64_t>(names.size()), {}};
  for (size_t i = 0; i < names.size(); ++i) {
    columns[i].name = names[i];
    if (in_trees[i]) columns[i].share_of_rows = 1;
    if (columns[i].open_dimensions > 0 || in_trees[i]) report.open.push_back(columns[i]);
  }
  std::stable_sort(report.open.begin(), report.open.end(),
                   [](const OpenInput& a, const OpenInput& b) { return a.open_dimensions > b.open_dimensions; });
  return report;
}

std::optional<Predictions> TableRun::predict_file(const fs::path& file) {
  CsvOptions csv;
  csv.delimiter = delimiter_of(config.data);
  csv.header = config.data.header;
  const TextTable text = read_csv(file, csv);
  std::vector<int64_t> rows(static_cast<size_t>(text.rows()));
  std::iota(rows.begin(), rows.end(), int64_t{0});
  if (rows.empty()) throw UserError(fmt::format("{} has a header but no rows", file.string()));
  const TableTensors tensors(encode_rows(text, RowEncoder(table.schema), rows, true), machine.device,
                             dtype_of(config.train.precision));
  return predict_table(*model, gate_state, tensors, table.schema);
}

void TableRun::add_figures(Split split, Evaluation& evaluation) {
  if (evaluation.inputs) fill_column_worth(*this, evaluation.inputs->open);
  if (const TreeScores& trees = table.schema.trees; !trees.empty() && trees_speak_of(split))
    evaluation.further.update({{"trees", trees.trees()}, {"tree_share", trees.share}});
  if (table.planted.empty()) return;
  add_planted_sets(*this, split, *evaluation.planted);
  evaluation.bayes_auc = table.bayes_auc;
}

}  // namespace l0gm
