#include "compact/table/column_table.h"

#include <ATen/Functions.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "compact/matrix_rows.h"

namespace l0gm {

namespace {

constexpr int64_t rows_at_a_time = 4096;

// The parts of the schema before that one column decides.
struct ColumnParts {
  int64_t column = 0;           // before
  std::vector<int64_t> fields;  // used ones: embedded, then statistics of this column alone
  int64_t code_slot = -1, value_slot = -1, value_field = -1;
};

ColumnParts parts_of(const Schema& schema, const NarrowSchema& narrow, const NetColumn& column) {
  ColumnParts parts;
  parts.column = narrow.column_before[static_cast<size_t>(column.column)];
  const std::vector<int64_t> slots = slots_of_fields(schema);
  for (size_t f = 0; f < schema.fields.size(); ++f) {
    const Field& field = schema.fields[f];
    const bool statistic = field.kind == FieldKind::statistic;
    if (field.column != parts.column || (statistic && !narrow.statistic_of_column[f])) continue;
    if (narrow.used[f]) parts.fields.push_back(static_cast<int64_t>(f));
    if (statistic) continue;
    if (field.is_lookup() || field.kind == FieldKind::multi) {
      parts.code_slot = slots[f];
    } else {
      parts.value_slot = slots[f];
      parts.value_field = static_cast<int64_t>(f);
    }
  }
  return parts;
}

// The cell of each row that has no factor, coded: missing, then codes; or missing, bins, known values.
CodedRows plain_rows(const ModelProbe& probe, const ColumnParts& parts, const NetColumn& column, int64_t begin, int64_t count,
                     float slope) {
  const Schema& schema = probe.schema();
  CodedRows rows(schema, count);
  for (int64_t i = 0; i < count; ++i) {
    const int64_t row = begin + i;
    int32_t* codes = rows.codes_of(i);
    float* slopes = rows.slopes_of(i);
    if (column.kind != NetColumn::Kind::number) {
      codes[parts.code_slot] = static_cast<int32_t>(row);
      if (column.kind == NetColumn::Kind::several) slopes[parts.code_slot] = 1;
    } else if (row > column.bins) {
      const auto exact = std::find_if(schema.fields.begin(), schema.fields.end(), [&](const Field& field) {
        return field.kind == FieldKind::exact && field.column == parts.column;
      });
      std::vector<double> numbers(schema.columns.size(), std::numeric_limits<double>::quiet_NaN());
      numbers[static_cast<size_t>(parts.column)] = exact->values[static_cast<size_t>(row - 1 - column.bins)];
      probe.row_encoder().encode_numbers(numbers.data(), codes, slopes);
    } else if (row > 0) {
      if (parts.code_slot >= 0) codes[parts.code_slot] = 1;
      codes[parts.value_slot] = static_cast<int32_t>(row);
      slopes[parts.value_slot] = slope;
    }
    if (!schema.statistics.empty()) probe.statistics().encode(codes, slopes);
  }
  return rows;
}

struct Answers {
  torch::Tensor interface, terms;
};

class TableFiller {
 public:
  TableFiller(const ModelProbe& probe, const ColumnParts& parts, const NetColumn& column, ColumnTable& table)
      : probe_(probe), parts_(parts), column_(column), table_(table), index_(at::tensor(table.dimensions, torch::kInt64)) {}

  Answers ask(int64_t begin, int64_t count, float slope) const {
    const CodedRows rows = plain_rows(probe_, parts_, column_, begin, count, slope);
    return {probe_.interface(rows).index_select(1, index_), probe_.terms(rows, parts_.fields)};
  }
  void put(const Answers& answers, int64_t begin) {
    copy_rows(answers.interface, table_.interface, begin);
    copy_rows(answers.terms, table_.terms, begin);
  }
  void fill_plain() {
    const int64_t rows = column_.kind == NetColumn::Kind::number ? column_.first_factor_row() : column_.codes;
    for (int64_t begin = 0; begin < rows; begin += rows_at_a_time)
      put(ask(begin, std::min(rows_at_a_time, rows - begin), 0), begin);
  }
  // A number's embedding is linear in its slope: what a slope of 1 adds is the direction.
  void fill_directions() {
    const Answers at_one = ask(1, column_.bins, 1), at_zero = ask(1, column_.bins, 0);
    put({at_one.interface - at_zero.interface, at_one.terms - at_zero.terms}, column_.first_factor_row());
  }

  // Waves: the rows of sines and cosines are the maps, gated; at slope 0 every cosine is 1, so that the bin's row is what is left
  // without.
  void fill_waves(NetColumn& column);

 private:
  const ModelProbe& probe_;
  const ColumnParts& parts_;
  const NetColumn& column_;
  ColumnTable& table_;
  torch::Tensor index_;
};

int64_t place_in(const std::vector<int64_t>& list, int64_t value) {
  return std::find(list.begin(), list.end(), value) - list.begin();
}

void TableFiller::fill_waves(NetColumn& column) {
  const int64_t half = column.waves / 2, own = PeriodicRows::frequencies;
  const CodedRows present = plain_rows(probe_, parts_, column_, 1, 1, 0);
  const torch::Tensor gates =
      probe_.instance() ? at::ones({probe_.width()}, torch::kFloat64) : probe_.dimension_gates(present).select(0, 0);
  const auto add = [&](const PeriodicRows& rows, int64_t first_wave, Matrix& to, const auto& column_of, int64_t width,
                       const auto& gate_of) {
    const int64_t place = place_in(rows.fields(), parts_.value_field);
    const torch::Tensor map = rows.wave_map().select(0, place).to(torch::kFloat64).contiguous();
    const torch::Tensor frequencies = rows.wave_frequencies().select(0, place).to(torch::kFloat64).contiguous();
    for (int64_t k = 0; k < own; ++k) table_.frequencies.push_back(frequencies[k].item<double>());
    for (int64_t k = 0; k < 2 * own; ++k) {
      const int64_t row = column.first_factor_row() + (k < own ? first_wave + k : half + first_wave + k - own);
      for (int64_t d = 0; d < width; ++d) {
        const int64_t at_column = column_of(d);
        if (at_column < 0) continue;
        const double value = map[k][d].item<double>() * gate_of(d);
        to.at(row, at_column) = value;
        if (k >= own) to.at(1, at_column) -= value;
      }
    }
  };
  const int64_t width = probe_.encoder().field_width(), first = parts_.value_field * width;
  const auto dimension_column = [&](int64_t d) {
    const int64_t place = place_in(table_.dimensions, first + d);
    return place < static_cast<int64_t>(table_.dimensions.size()) ? place : -1;
  };
  add(*probe_.encoder().periodic(), 0, table_.interface, dimension_column, width,
      [&](int64_t d) { return gates[first + d].item<double>(); });
  if (probe_.linear() == nullptr) return;
  const double gate = probe_.instance() ? 1 : probe_.field_gates(present)[0][parts_.value_field].item<double>();
  add(
      *probe_.linear()->encodings().periodic(), own, table_.terms, [](int64_t d) { return d; }, probe_.branch_logits(),
      [&](int64_t) { return gate; });
}

}  // namespace

ColumnTable column_table(const ModelProbe& probe, const NarrowSchema& narrow, const torch::Tensor& open_dimensions,
                         NetColumn& column) {
  const ColumnParts parts = parts_of(probe.schema(), narrow, column);
  const int64_t width = probe.encoder().field_width(), embedded = probe.encoder().embedded_fields();
  const auto open = open_dimensions.accessor<bool, 1>();
  const bool waves = column.kind == NetColumn::Kind::number &&
                     probe.schema().fields[static_cast<size_t>(parts.value_field)].kind == FieldKind::periodic;
  if (waves) column.waves = 2 * PeriodicRows::frequencies * (probe.linear() != nullptr ? 2 : 1);
  ColumnTable table;
  for (const int64_t f : parts.fields) {
    const int64_t first = f < embedded ? f * width : embedded * width + f - embedded;
    for (int64_t d = first; d < first + (f < embedded ? width : 1); ++d) {
      if (open[d]) table.dimensions.push_back(d);
    }
  }
  table.interface = Matrix(column.table_rows(), static_cast<int64_t>(table.dimensions.size()));
  table.terms = Matrix(column.table_rows(), probe.branch_logits());
  TableFiller filler(probe, parts, column, table);
  filler.fill_plain();
  if (column.kind == NetColumn::Kind::number && !waves) filler.fill_directions();
  if (waves) filler.fill_waves(column);
  return table;
}

}  // namespace l0gm
