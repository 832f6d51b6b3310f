#include "compact/table/fold.h"

#include <ATen/Functions.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <numeric>

#include "compact/table/column_table.h"
#include "compact/table/fold_heads.h"

namespace l0gm {

namespace {

// The columns of the schema that is left, what their cells say, and the net they go into.
struct Work {
  const ModelProbe& probe;
  const torch::Tensor open;  // dimensions
  NarrowSchema narrow;
  TableNet<Matrix> net;
  torch::Tensor to_accumulator;                  // [width, wide columns]: what each interface dimension adds to the accumulator
  std::vector<ColumnTable> tables;               // per column
  std::vector<std::vector<UnitSource>> sources;  // per column: where each of its units comes from
};

bool grid_is_read(const ModelProbe& probe) { return probe.pairs() != nullptr || probe.cin() != nullptr; }

bool says_something(const Matrix& matrix) {
  return std::any_of(matrix.values.begin(), matrix.values.end(), [](double value) { return value != 0; });
}

void choose_folded(Work& work, int64_t fold_bytes) {
  if (work.probe.instance()) return;  // what a unit is multiplied with is not known ahead
  std::vector<size_t> order(work.net.columns.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return work.net.columns[a].table_rows() < work.net.columns[b].table_rows(); });
  int64_t bytes = 0;
  for (const size_t c : order) {
    const ColumnTable& table = work.tables[c];
    if (!says_something(table.interface) && !says_something(table.terms))
      continue;  // only its code is needed, as a statistic's key
    bytes += work.net.columns[c].table_rows() * work.net.wide_columns() * static_cast<int64_t>(sizeof(float));
    if (bytes > fold_bytes) return;
    work.net.columns[c].folded = true;
  }
}

// A folded column hands over only what the grid reads; any other all that it says.
void choose_units(Work& work) {
  const int64_t embedded = work.probe.embedded_dimensions();
  const bool grid = grid_is_read(work.probe);
  for (size_t c = 0; c < work.net.columns.size(); ++c) {
    NetColumn& column = work.net.columns[c];
    const ColumnTable& table = work.tables[c];
    std::vector<UnitSource>& sources = work.sources.emplace_back();
    for (size_t i = 0; i < table.dimensions.size(); ++i) {
      const int64_t d = table.dimensions[i];
      if (!column.folded || (grid && d < embedded)) sources.push_back({d, -1, -1});
    }
    if (!column.folded && says_something(table.terms)) {
      const int64_t source = work.narrow.column_before[static_cast<size_t>(column.column)];
      for (int64_t o = 0; o < work.probe.branch_logits(); ++o) sources.push_back({-1, o, source});
    }
    column.units = static_cast<int64_t>(sources.size());
    if (!column.folded && column.units == 0) column.waves = 0;  // nothing reads its table
  }
}

void fill_columns(Work& work) {
  const torch::Tensor& map = work.to_accumulator;
  for (size_t c = 0; c < work.net.columns.size(); ++c) {
    const NetColumn& column = work.net.columns[c];
    const ColumnTable& table = work.tables[c];
    if (column.folded) {
      const int64_t rows = column.table_rows();
      const torch::Tensor said =
          at::from_blob(const_cast<double*>(table.interface.values.data()), {rows, table.interface.columns}, torch::kFloat64);
      torch::Tensor wide = at::matmul(said, map.index_select(0, at::tensor(table.dimensions, torch::kInt64)));
      const int64_t logits = work.net.branch_logits();
      wide.narrow(1, work.net.first_logit(), logits)
          .add_(at::from_blob(const_cast<double*>(table.terms.values.data()), {rows, logits}, torch::kFloat64));
      wide = wide.contiguous();
      std::copy(wide.data_ptr<double>(), wide.data_ptr<double>() + wide.numel(), work.net.wide.row(column.wide_begin));
    }
    if (column.waves > 0) {
      Matrix& frequencies = work.net.frequencies.emplace_back(1, column.waves / 2);
      frequencies.values = table.frequencies;
    }
    if (column.units == 0) continue;
    Matrix& units = work.net.unit_tables.emplace_back(column.table_rows(), column.units);
    for (int64_t u = 0; u < column.units; ++u) {
      const UnitSource& source = work.sources[c][static_cast<size_t>(u)];
      const auto place = std::find(table.dimensions.begin(), table.dimensions.end(), source.dimension) - table.dimensions.begin();
      for (int64_t row = 0; row < column.table_rows(); ++row) {
        units.at(row, u) = source.dimension >= 0 ? table.interface.at(row, place) : table.terms.at(row, source.logit);
      }
    }
  }
}

// The statistics of pairs that are left: one unit each. Where gates depend on the example, its linear term is a unit of its own,
// as another gate decides on it.
std::vector<UnitSource> choose_statistics(Work& work) {
  std::vector<UnitSource> sources;
  const ModelProbe& probe = work.probe;
  const auto open = work.open.accessor<bool, 1>();
  const std::vector<int64_t> slots = slots_of_fields(work.narrow.schema);
  for (size_t f = 0; f < work.narrow.schema.fields.size(); ++f) {
    if (work.narrow.schema.fields[f].kind != FieldKind::statistic) continue;
    const int64_t before = work.narrow.field_before[f], s = before - probe.encoder().embedded_fields();
    const int64_t d = probe.embedded_dimensions() + s;
    const int64_t source = probe.encoder().source_of_field()[static_cast<size_t>(before)];
    const auto add = [&](UnitSource unit) {
      unit.statistic = s;
      sources.push_back(unit);
      work.net.statistic_slots.push_back(slots[f]);
    };
    if (!probe.instance()) {
      add({d, -1, source});
    } else {
      if (open[d]) add({d, -1, -1});
      if (probe.linear() != nullptr) add({-1, -1, source});
    }
  }
  return sources;
}

// Writes what a unit adds, per unit of its value: into `wide`, or into `first` of a batch ensemble.
class DenseRows {
 public:
  DenseRows(const Work& work, TableNet<Matrix>& net) : net_(net), map_(work.to_accumulator.contiguous()) {
    if (!net.shared) return;
    const BatchEnsembleHead::Layer layer = work.probe.batch_layers().hidden[0];
    weight_ = layer.weight.contiguous();
    factors_ = layer.in_factors.contiguous();
  }
  void add_dimension(int64_t dense, int64_t d, double gate) {
    if (!net_.shared) {
      add(map_.data_ptr<double>() + d * net_.wide_columns(), net_.wide_columns(), gate, net_.wide.row(dense));
      return;
    }
    add(weight_.data_ptr<double>() + d * net_.hidden, net_.hidden, gate, net_.first.weights.row(dense));
    for (int64_t m = 0; m < net_.members; ++m) net_.first.in_factors.at(m, dense) = factors_[m][d].item<double>();
  }
  void add_term(int64_t dense, int64_t logit, double weight) {
    (net_.shared ? net_.first.terms.at(logit, dense) : net_.wide.at(dense, net_.first_logit() + logit)) += weight;
  }

 private:
  static void add(const double* from, int64_t count, double gate, double* row) {
    for (int64_t i = 0; i < count; ++i) row[i] += gate * from[i];
  }
  TableNet<Matrix>& net_;
  const torch::Tensor map_;
  torch::Tensor weight_, factors_;
};

void fill_dense(Work& work, const std::vector<UnitSource>& statistics) {
  const ModelProbe& probe = work.probe;
  TableNet<Matrix>& net = work.net;
  DenseRows rows(work, net);
  size_t unit = 0;
  for (size_t c = 0; c < net.columns.size(); ++c) {
    for (const UnitSource& source : work.sources[c]) {
      const int64_t dense = net.units[unit++].dense;
      if (dense < 0) continue;
      if (source.dimension >= 0)
        rows.add_dimension(dense, source.dimension, 1);
      else
        rows.add_term(dense, source.logit, 1);
    }
  }
  if (statistics.empty()) return;
  const CodedRows any(probe.schema(), 1);
  const torch::Tensor dimension_gates = probe.dimension_gates(any), field_gates = probe.field_gates(any);
  for (const UnitSource& source : statistics) {
    const int64_t dense = net.units[unit++].dense;
    if (source.dimension >= 0)
      rows.add_dimension(dense, source.dimension, probe.instance() ? 1 : dimension_gates[0][source.dimension].item<double>());
    if (probe.linear() == nullptr || source.gate_source < 0) continue;
    const int64_t field = probe.encoder().embedded_fields() + source.statistic;
    const double gate = probe.instance() ? 1 : field_gates[0][field].item<double>();
    const torch::Tensor weights = probe.linear()->statistic_weights().select(0, source.statistic).to(torch::kFloat64);
    for (int64_t o = 0; o < net.branch_logits(); ++o) rows.add_term(dense, o, gate * weights[o].item<double>());
  }
}

}  // namespace

FoldedModel fold_table(Model& model, const GateState& state, const Schema& schema, const FoldOptions& options) {
  c10::InferenceMode inference;
  const ModelProbe probe(model, state, schema);
  const torch::Tensor open = model.open_dimensions(state).contiguous();
  Work work{probe, open, narrow_schema(probe, open), {}, {}, {}, {}};
  TableNet<Matrix>& net = work.net;
  net.members = probe.members();
  net.outputs = probe.outputs();
  net.columns = columns_of(work.narrow.schema);
  fold_deep(probe, net);
  work.to_accumulator = accumulator_map(probe, net);
  for (NetColumn& column : net.columns) work.tables.push_back(column_table(probe, work.narrow, open, column));
  choose_folded(work, options.fold_bytes);
  choose_units(work);
  const std::vector<UnitSource> statistics = choose_statistics(work);
  net.wide = Matrix(net.arrange(), net.wide_columns());
  if (net.shared) {
    net.first.weights = Matrix(net.dense_units(), net.hidden);
    net.first.in_factors = Matrix(net.members, net.dense_units());
    net.first.terms = Matrix(net.outputs, net.dense_units());
  }
  fill_columns(work);
  fill_dense(work, statistics);
  std::vector<UnitSource> all;
  for (const auto& of_column : work.sources) all.insert(all.end(), of_column.begin(), of_column.end());
  all.insert(all.end(), statistics.begin(), statistics.end());
  if (grid_is_read(probe)) fold_grid(probe, open, all, net);
  if (probe.instance()) fold_gate(probe, all, net);
  return {std::move(work.narrow.schema), std::move(net), std::move(work.narrow.closed_columns)};
}

}  // namespace l0gm
