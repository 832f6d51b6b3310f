#include "training/table/column_worth.h"

#include <ATen/Functions.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "base/progress.h"
#include "base/random.h"
#include "metrics/scores.h"
#include "training/table/table_task.h"

namespace l0gm {
namespace {

constexpr int64_t most_judged_rows = 10000, fewest_judged_rows = 500, most_work = 300000;  // rows times columns
constexpr int64_t many_judged_rows = 2000, many_columns = 200;  // fewer of both: each column is shuffled three times
constexpr uint64_t shuffle_seed = 0x776f727468;
constexpr double closed_logit = -1e3;

// Validation rows of a run, to be predicted with one column changed.
class JudgedRows {
 public:
  JudgedRows(TableRun& run, int64_t count) : run_(run), data_(run.dataset()), encoder_(run.table.schema) {
    rows_ = data_.valid;
    if (std::ssize(rows_) > count) {
      const std::vector<int64_t> order = RandomStream(shuffle_seed).permutation(std::ssize(rows_));
      for (int64_t i = 0; i < count; ++i)
        rows_[static_cast<size_t>(i)] = data_.valid[static_cast<size_t>(order[static_cast<size_t>(i)])];
      rows_.resize(static_cast<size_t>(count));
    }
    for (const Column& column : run.table.schema.columns) columns_.push_back(data_.table.column(column.name));
  }
  int64_t size() const { return std::ssize(rows_); }
  double nll_as_is() const { return nll_of({}, 0); }
  double nll_of_shuffled(size_t column, uint64_t round) const {
    return nll_of(RandomStream(shuffle_seed, mix_key(column, round)).permutation(size()), column);
  }

 private:
  // order: whose cell each row gets in `column`; empty: its own.
  double nll_of(const std::vector<int64_t>& order, size_t column) const {
    const Schema& schema = run_.table.schema;
    EncodedTable table;
    table.code_slots = schema.code_slots();
    table.slope_slots = schema.slope_slots();
    table.codes.resize(rows_.size() * static_cast<size_t>(table.code_slots));
    table.slopes.resize(rows_.size() * static_cast<size_t>(table.slope_slots));
    table.row_numbers = rows_;
    std::vector<std::string_view> cells(columns_.size());
    for (size_t i = 0; i < rows_.size(); ++i) {
      for (size_t c = 0; c < cells.size(); ++c) cells[c] = data_.table.cell(rows_[i], columns_[c]);
      if (!order.empty()) cells[column] = data_.table.cell(rows_[static_cast<size_t>(order[i])], columns_[column]);
      encoder_.encode(cells.data(), table.codes.data() + i * static_cast<size_t>(table.code_slots),
                      table.slopes.data() + i * static_cast<size_t>(table.slope_slots));
      table.labels.push_back(encoder_.class_of(data_.table.cell(rows_[i], data_.label)));
    }
    const torch::Dtype dtype = run_.model->parameters().front().scalar_type();  // compaction asks models of other precisions
    const TableTensors tensors(std::move(table), run_.machine.device, dtype);
    return nll(predict_table(*run_.model, run_.gate_state, tensors, schema));
  }

  TableRun& run_;
  const TableDataset& data_;
  RowEncoder encoder_;
  std::vector<int64_t> rows_, columns_;
};

// The units that feed dimensions of a column.
std::set<int64_t> units_of(const TableRun& run, int64_t column) {
  const auto columns = run.fields().columns_of_dimension();
  const torch::Tensor index = run.model->interface_site()->index;
  std::set<int64_t> units;
  for (size_t d = 0; d < columns.size(); ++d) {
    if (std::find(columns[d].begin(), columns[d].end(), column) == columns[d].end()) continue;
    const auto dimension = static_cast<int64_t>(d);
    units.insert(index.defined() ? index[dimension].item<int64_t>() : dimension);
  }
  return units;
}

bool can_close(const TableRun& run, int64_t open) {
  const GateSite* site = run.model->interface_site();
  return site != nullptr && open > 1 && !site->gate->has_instance_logits() && run.model->unit() != UnitKind::fine;
}

double nll_of_closed(const TableRun& run, const JudgedRows& rows, int64_t column) {
  torch::NoGradGuard no_grad;
  HardConcrete gate = run.model->interface_site()->gate;
  const torch::Tensor before = gate->logits().detach().clone();
  for (const int64_t unit : units_of(run, column)) gate->logits()[unit].fill_(closed_logit);
  const double found = rows.nll_as_is();
  gate->logits().copy_(before);
  return found;
}

}  // namespace

void fill_column_worth(TableRun& run, std::vector<OpenInput>& columns) {
  if (columns.empty()) return;
  const JudgedRows rows(run, std::clamp(most_work / std::ssize(columns), fewest_judged_rows, most_judged_rows));
  const double as_is = rows.nll_as_is();
  const std::vector<std::string> names = run.fields().column_names();
  // Trees beside the net read cells and know nothing of units: they would go on reading a column that is closed.
  const std::vector<bool> in_trees = run.columns_of_trees();
  const auto open_in_net =
      std::count_if(columns.begin(), columns.end(), [](const OpenInput& column) { return column.open_dimensions > 0; });
  const uint64_t rounds = rows.size() < many_judged_rows && std::ssize(columns) < many_columns ? 3 : 1;
  Progress progress("worth of columns", std::ssize(columns), {"columns"});
  for (OpenInput& column : columns) {
    progress.update(&column - columns.data(), column.name);
    const auto place = std::find(names.begin(), names.end(), column.name) - names.begin();
    const bool closes = can_close(run, open_in_net) && !in_trees[static_cast<size_t>(place)];
    double sum = 0;
    for (uint64_t round = 0; round < rounds; ++round) sum += rows.nll_of_shuffled(static_cast<size_t>(place), round);
    column.worth_shuffled = sum / static_cast<double>(rounds) - as_is;
    if (closes) column.worth_closed = nll_of_closed(run, rows, place) - as_is;
  }
}

}  // namespace l0gm
