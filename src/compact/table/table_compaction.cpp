#include "compact/table/table_compaction.h"

#include <c10/core/InferenceMode.h>
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/text.h"
#include "base/threads.h"
#include "compact/about.h"
#include "compact/table/check_rows.h"
#include "compact/table/table_card.h"
#include "data/table/source.h"
#include "gate/gate_figures.h"
#include "l0gm/error.h"
#include "l0gm/runtime.h"
#include "runtime/compact_file.h"
#include "runtime/mix_trees.h"
#include "runtime/probabilities.h"
#include "runtime/reference_logits.h"
#include "training/table/column_worth.h"
#include "training/table/table_task.h"

namespace l0gm {

namespace fs = std::filesystem;

namespace {

constexpr uint64_t check_seed = 0;
constexpr int64_t reference_rows = 64;           // that a thread computes at a time
constexpr int64_t rows_for_gate_figures = 8192;  // validation rows over which the open units of each example are averaged

std::vector<int64_t> all_rows(const TextTable& table) {
  std::vector<int64_t> rows(static_cast<size_t>(table.rows()));
  std::iota(rows.begin(), rows.end(), int64_t{0});
  return rows;
}

TableRun load(const fs::path& path, torch::Dtype dtype) {
  TableRun run(path, prepare_machine("cpu", 0, false));
  place(*run.model, torch::kCPU, dtype);
  return run;
}

void append(std::vector<double>& to, const std::vector<double>& more) { to.insert(to.end(), more.begin(), more.end()); }

}  // namespace

TableCompaction::TableCompaction(const fs::path& run, const CompactOptions& options)
    : single_(load(run, torch::kFloat32)), exact_(load(run, torch::kFloat64)), fold_bytes_(options.fold_bytes) {
  if (!options.lookup.empty()) {
    throw UserError(fmt::format("--nodes: {} is a run on a table, which has no nodes; leave it out", run.string()));
  }
  const TableDataset& data = single_.dataset();
  const Schema& schema = single_.table.schema;
  folded_ = fold_table(*exact_.model, exact_.gate_state, schema, {fold_bytes_});
  generated_ = make_check_rows(schema, options.generated_rows, check_seed);
  parts_.push_back({"validation", data.table, data.valid});
  parts_.push_back({"generated", generated_, all_rows(generated_)});
  checked_.rows = std::ssize(parts_[0].rows) + std::ssize(parts_[1].rows);
  checked_.noun = "rows";
  const auto find = [this](int64_t row) {
    const int64_t first = std::ssize(parts_[0].rows);
    const TableRows& part = parts_[row < first ? 0 : 1];
    return std::pair<const TableRows*, int64_t>(&part, part.rows[static_cast<size_t>(row < first ? row : row - first)]);
  };
  checked_.where = [find](int64_t row) { return fmt::format("{} row {}", find(row).first->name, find(row).second); };
  checked_.what = [this, find](int64_t row) {
    const auto [part, number] = find(row);
    std::vector<std::string> cells;
    for (const Column& column : exact_.table.schema.columns) {
      cells.push_back(fmt::format("{}={}", column.name, part->table.cell(number, part->table.column(column.name))));
    }
    return list_some(cells, 40);
  };
}

bool TableCompaction::unfold() {
  if (fold_bytes_ == 0) return false;
  fold_bytes_ = 0;
  folded_ = fold_table(*exact_.model, exact_.gate_state, single_.table.schema, {fold_bytes_});
  return true;
}

std::vector<double> TableCompaction::trained(Precision precision) {
  TableRun& run = precision == Precision::float64 ? exact_ : single_;
  std::vector<double> probabilities;
  for (const TableRows& part : parts_) {
    const TableTensors tensors(encode_rows(part.table, RowEncoder(run.table.schema), part.rows, false), torch::kCPU,
                               dtype_of(precision));
    append(probabilities, predict_table(*run.model, run.gate_state, tensors, run.table.schema).probabilities);
  }
  return probabilities;
}

std::vector<double> TableCompaction::folded() {
  const auto classes = static_cast<int64_t>(folded_.schema.classes.size());
  std::vector<double> probabilities;
  for (const TableRows& part : parts_) {
    const EncodedTable encoded = encode_rows(part.table, RowEncoder(folded_.schema), part.rows, false);
    const size_t before = probabilities.size();
    probabilities.resize(before + static_cast<size_t>(encoded.rows() * classes));
    parallel_for(encoded.rows(), reference_rows, [&](int64_t begin, int64_t end) {
      std::vector<double> logits(static_cast<size_t>(folded_.net.logits()));
      for (int64_t row = begin; row < end; ++row) {
        reference_logits(folded_.net, encoded.codes.data() + row * encoded.code_slots,
                         encoded.slopes.data() + row * encoded.slope_slots, logits.data());
        mean_probabilities(logits.data(), folded_.net.members, folded_.net.outputs,
                           probabilities.data() + before + static_cast<size_t>(row * classes));
        mix_trees(folded_.schema.trees, encoded.slopes.data() + (row + 1) * encoded.slope_slots,
                  probabilities.data() + before + static_cast<size_t>(row * classes));
      }
    });
  }
  return probabilities;
}

std::vector<double> TableCompaction::served(const fs::path& file) {
  std::vector<double> probabilities;
  for (const TableRows& part : parts_) append(probabilities, served_probabilities(file, part));
  return probabilities;
}

Predictions TableCompaction::served(const fs::path& file, Split split) {
  const TableDataset& data = single_.dataset();
  const std::vector<int64_t>& rows = split == Split::valid ? data.valid : data.test;
  Predictions predictions;
  predictions.classes = folded_.schema.classes;
  if (rows.empty()) return predictions;
  predictions.rows = rows;
  predictions.probabilities = served_probabilities(file, {std::string(name_of_enum(split)), data.table, rows});
  const RowEncoder encoder(folded_.schema);
  for (const int64_t row : rows) predictions.labels.push_back(encoder.class_of(data.table.cell(row, data.label)));
  return predictions;
}

nlohmann::json TableCompaction::describe_gate() {
  const GateSite* site = exact_.model->interface_site();
  if (site == nullptr || !site->gate->has_instance_logits()) return about_gate(exact_, nullptr);
  c10::InferenceMode inference;  // how many are open depends on the rows
  const TableTensors valid(encode_rows(parts_[0].table, RowEncoder(exact_.table.schema), parts_[0].rows, false), torch::kCPU,
                           torch::kFloat64);
  const auto batch = valid.range(0, std::min(valid.rows(), rows_for_gate_figures));
  GatePass pass = GatePass::evaluation(exact_.gate_state, batch->example_ids);
  exact_.model->interface(*batch, pass);
  return about_gate(exact_, &pass);
}

nlohmann::json TableCompaction::about() {
  const torch::Tensor open = exact_.model->open_dimensions(exact_.gate_state);
  nlohmann::json about = about_run(exact_);
  about.update({{"training_rows", single_.dataset().train.size()},
                {"dimensions", open.numel()},
                {"open_dimensions", open.sum().item<int64_t>()},
                {"parameters_dense", exact_.model->parameter_count()},
                {"parameters_open", exact_.model->parameter_count(exact_.gate_state)},
                {"closed_columns", folded_.closed_columns},
                {"gate", describe_gate()}});
  if (!exact_.config.distill.from.empty()) about["distilled"] = true;
  if (std::optional<InputReport> inputs = single_.inputs(Split::valid)) {
    fill_column_worth(single_, inputs->open);
    about["worth"] = nlohmann::json::object();
    for (const OpenInput& input : inputs->open) about["worth"][input.name] = *input.worth_shuffled;
  }
  if (folded_.net.shared) about["members_share_layers"] = true;
  if (const TreeScores& trees = folded_.schema.trees; !trees.empty())
    about.update({{"trees", trees.trees()}, {"tree_share", trees.share}});
  return about;
}

int64_t TableCompaction::write(const fs::path& file, WeightType weights, const Calibrator& calibrator,
                               const nlohmann::json& about) {
  return write_compact(file, {folded_.schema, weights, calibrator, delimiter_of(single_.config.data), about}, folded_.net);
}

std::string TableCompaction::card(const std::string& file, const nlohmann::json& about) const {
  return table_card(file, folded_.schema, about);
}

nlohmann::json TableCompaction::result(const nlohmann::json&) const { return {{"columns", folded_.schema.columns.size()}}; }

std::string TableCompaction::describe(const nlohmann::json& result) const {
  const std::vector<std::string>& closed = folded_.closed_columns;
  std::string text = fmt::format("{}: {} bytes, {} of {} {} open, reads {} columns{}\n", result["model"].get<std::string>(),
                                 with_thousands(result["bytes"].get<int64_t>()), result["open_units"].get<int64_t>(),
                                 result["units"].get<int64_t>(), result.value("units_are", "units"),
                                 result["columns"].get<int64_t>(), closed.empty() ? "" : " (closed: " + list_some(closed) + ")");
  if (result.contains("rounding")) {
    text += fmt::format("  {} weights move probabilities by at most {:.1e}, {:.1e} on average\n",
                        result["weights"].get<std::string>(), result["rounding"]["largest_difference"].get<double>(),
                        result["rounding"]["mean_difference"].get<double>());
  }
  return text;
}

std::vector<double> served_probabilities(const fs::path& file, const TableRows& rows) {
  const CompactModel model = CompactModel::load(file, {.threads = 1, .calibrated = false});
  const RowLayout layout = model.layout(rows.table.names());
  std::vector<std::string_view> cells;
  cells.reserve(rows.rows.size() * static_cast<size_t>(rows.table.columns()));
  for (const int64_t row : rows.rows) {
    for (int64_t c = 0; c < rows.table.columns(); ++c) cells.push_back(rows.table.cell(row, c));
  }
  std::vector<float> served(rows.rows.size() * model.classes().size());
  model.predict(cells, served, &layout);
  return {served.begin(), served.end()};
}

}  // namespace l0gm
