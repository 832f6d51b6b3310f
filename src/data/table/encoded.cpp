#include "data/table/encoded.h"

#include <fmt/format.h>

#include <stdexcept>
#include <string_view>

#include "base/text.h"
#include "data/table/fit.h"
#include "l0gm/error.h"

namespace l0gm {

std::vector<int64_t> match_columns(const std::vector<std::string>& names, const Schema& schema) {
  std::unordered_map<std::string_view, int64_t> where;
  for (size_t i = 0; i < names.size(); ++i) where.emplace(names[i], static_cast<int64_t>(i));
  std::vector<int64_t> result;
  result.reserve(schema.columns.size());
  for (const Column& column : schema.columns) {
    const auto found = where.find(column.name);
    if (found == where.end()) {
      throw UserError(fmt::format("column '{}', which the model was trained with, is not in the table; it has: {}.{} "
                                  "Add the column or correct its name in the header.",
                                  column.name, list_some(names), did_you_mean(column.name, names)));
    }
    result.push_back(found->second);
  }
  return result;
}

EncodedTable encode_rows(const TextTable& table, const RowEncoder& encoder, const std::vector<int64_t>& rows, bool with_labels,
                         RowEncoder::Counts* counts) {
  const Schema& schema = encoder.schema();
  const std::vector<int64_t> columns = match_columns(table.names(), schema);
  int64_t label_column = -1;
  if (with_labels) {
    label_column = find_column(table.names(), schema.label, "the label column");
    check_labels(table, label_column, schema.classes, schema.missing_marks, rows, "");
  }
  EncodedTable result;
  result.fields = encoder.fields();
  const size_t width = static_cast<size_t>(result.fields);
  result.codes.resize(rows.size() * width);
  result.slopes.resize(rows.size() * width);
  result.row_numbers = rows;
  if (with_labels) result.labels.reserve(rows.size());
  std::vector<std::string_view> cells(columns.size());
  for (size_t i = 0; i < rows.size(); ++i) {
    for (size_t c = 0; c < columns.size(); ++c) cells[c] = table.cell(rows[i], columns[c]);
    encoder.encode(cells.data(), result.codes.data() + i * width, result.slopes.data() + i * width, counts);
    if (with_labels) result.labels.push_back(encoder.class_of(table.cell(rows[i], label_column)));
  }
  return result;
}

std::vector<FieldCounts> count_fields(const EncodedTable& table, const Schema& schema) {
  if (table.fields != static_cast<int64_t>(schema.fields.size())) throw std::logic_error("count_fields: another schema's table");
  std::vector<FieldCounts> counts(schema.fields.size());
  for (size_t f = 0; f < counts.size(); ++f) {
    counts[f].count.assign(static_cast<size_t>(schema.fields[f].rows()), 0.0);
    counts[f].slope_sum = counts[f].count;
  }
  size_t at = 0;
  for (int64_t row = 0; row < table.rows(); ++row) {
    for (FieldCounts& field : counts) {
      const auto code = static_cast<size_t>(table.codes[at]);
      field.count[code] += 1;
      field.slope_sum[code] += static_cast<double>(table.slopes[at++]);
    }
  }
  return counts;
}

}  // namespace l0gm
