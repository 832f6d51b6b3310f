#include "data/table/fit.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "base/log.h"
#include "base/text.h"
#include "data/table/column_request.h"
#include "data/table/fit_categories.h"
#include "data/table/fit_numeric.h"
#include "data/table/identifiers.h"
#include "data/table/labels.h"
#include "data/table/other_dates.h"
#include "data/table/read_numbers.h"
#include "encode/table/number_text.h"
#include "l0gm/error.h"

namespace l0gm {
namespace {

constexpr std::string_view constant_column = "it has one value in the training rows";
constexpr std::string_view empty_column = "all its training values are missing";

Cells present_cells(const TextTable& table, int64_t column, const std::vector<int64_t>& rows, const MissingMarks& marks) {
  Cells cells;
  cells.texts.reserve(rows.size());
  cells.rows.reserve(rows.size());
  for (const int64_t row : rows) {
    const std::string_view text = trim(table.cell(row, column));
    if (marks.contains(text)) {
      ++cells.missing;
    } else {
      cells.texts.push_back(text);
      cells.rows.push_back(row);
    }
  }
  return cells;
}

// Texts seen less often than this are rare unless the user says otherwise: a thousandth of the rows, at most 10.
int64_t rare_below(const Cells& cells) {
  const auto rows = static_cast<int64_t>(cells.texts.size()) + cells.missing;
  return std::clamp<int64_t>(rows / 1000, 1, 10);
}

// Fits one column. The result is in `column` and `fields`; or `left_out` is the reason why the column is not used.
struct ColumnFit {
  const std::string& name;
  const ColumnRequest& request;
  const TableOptions& options;
  const MissingMarks& marks;
  const RowPlaces& places;
  Cells cells;
  Column column = {};
  std::vector<Field> fields = {};
  std::string left_out = {};

  void fit();
  void fit_numbers(const std::vector<double>& sorted);
  void fit_texts();
  void fit_values();
};

void ColumnFit::fit() {
  column.name = name;
  column.missing_marks = request.options.missing;
  std::optional<NumberReading> numbers;
  if (request.type.empty() || request.type == "numeric") numbers = read_numbers(name, cells, request, options, places);
  if (cells.texts.empty() || (numbers && numbers->sorted.empty())) {
    left_out = empty_column;
    return;
  }
  const int distinct = numbers ? count_distinct(numbers->sorted) : 0;
  if (distinct == 1 && cells.missing == 0 && numbers->sorted.size() == cells.texts.size()) {
    left_out = constant_column;
    return;
  }
  if (numbers && request.type.empty() && (distinct == 1 || (distinct == 2 && all_whole(numbers->sorted))))
    numbers.reset();  // a flag, not a quantity
  column.type = numbers ? ColumnType::numeric : request.type == "multi" ? ColumnType::multi : ColumnType::categorical;
  check_column_request(name, request, column.type, options);
  column.missing = cells.missing;
  if (numbers && request.type.empty() && numbers->notation != date_notation && are_identifiers(name, numbers->sorted)) {
    left_out = fmt::format(
        "its {} whole numbers are nearly all different, as an identifier's are; set columns.{}.type = \"numeric\" to keep it",
        with_thousands(std::ssize(numbers->sorted)), name);
  } else if (numbers) {
    warn_of_reading(name, cells, request, *numbers, places);
    column.notation = numbers->notation;
    column.missing += std::ssize(cells.texts) - std::ssize(numbers->sorted);
    fit_numbers(numbers->sorted);
  } else if (column.type == ColumnType::multi) {
    fit_values();
  } else {
    fit_texts();
  }
}

void ColumnFit::fit_numbers(const std::vector<double>& sorted) {
  fit_numeric(column, fields.emplace_back(), sorted, request, options.bins);
  const int64_t min_count = min_count_of(request, options, 1);
  const ExactValues mode = exact_values_of(request, options);
  std::vector<double> exact = exact_values(name, sorted, mode, min_count, options.max_categories);
  if (exact.empty()) {
    if (mode == ExactValues::on) {
      log_warning(
          fmt::format("column '{}' has no exact values though they are on: none is seen {} times or more", name, min_count));
    }
    return;
  }
  Field& field = fields.emplace_back();
  field.kind = FieldKind::exact;
  field.values = std::move(exact);
}

void ColumnFit::fit_texts() {
  if (request.type.empty() && request.options.hash_buckets == 0 && are_other_dates(cells.texts)) {
    log_warning(fmt::format(
        "column '{}' has dates such as '{}', which are not read in this notation, since day and month may be mistaken for each "
        "other: they count as texts. Written as 2024-01-31 they would be read as days; columns.{}.type = \"categorical\" says "
        "that texts are meant.",
        name, cells.texts.front(), name));
  }
  const CategoryCounts counts = count_categories(cells.texts);
  if (counts.size() == 1 && cells.missing == 0) {
    left_out = constant_column;
  } else if (request.type.empty() && nearly_all_different(counts.size(), cells.texts.size())) {
    left_out = fmt::format(
        "its {} training values are {} different, as an identifier's are; set columns.{}.type = \"categorical\" or "
        "columns.{}.hash_buckets to keep it",
        with_thousands(std::ssize(cells.texts)), counts.size() == cells.texts.size() ? "all" : "nearly all", name, name);
  } else if (request.options.hash_buckets > 0) {
    Field& field = fields.emplace_back();
    field.kind = FieldKind::hashed;
    field.buckets = request.options.hash_buckets;
  } else {
    fit_categorical(name, fields.emplace_back(), counts, min_count_of(request, options, rare_below(cells)),
                    options.max_categories);
  }
}

void ColumnFit::fit_values() {
  const MultiCounts values = count_values(cells.texts, separator_of(request), marks);
  column.missing += static_cast<int64_t>(cells.texts.size()) - values.cells;
  const bool always_the_same =
      std::all_of(values.counts.begin(), values.counts.end(), [&](const auto& entry) { return entry.second == values.cells; });
  if (values.cells == 0) {
    left_out = empty_column;
  } else if (always_the_same && column.missing == 0) {
    left_out = constant_column;
  } else {
    Field& field = fields.emplace_back();
    field.separator = separator_of(request);
    fit_multi(name, field, values, min_count_of(request, options, rare_below(cells)), options.max_categories);
  }
}

// Adds the column and its fields to the schema. `taken`: names already in use.
void add_column(Schema& schema, ColumnFit& fit, std::unordered_set<std::string>& taken) {
  std::string name = fit.name;
  for (Field& field : fit.fields) {
    if (field.kind == FieldKind::exact) {
      do {
        name += '=';
      } while (!taken.insert(name).second);
    }
    field.name = name;
    field.column = static_cast<int64_t>(schema.columns.size());
    schema.fields.push_back(std::move(field));
  }
  schema.columns.push_back(std::move(fit.column));
}

void check_names(const std::vector<std::string>& names, const std::string& label,
                 const std::map<std::string, ColumnOptions>& column_options, const std::map<std::string, std::string>& types) {
  for (const auto& [name, unused] : column_options) find_column(names, name, "a column of the options (columns.NAME)");
  for (const auto& [name, unused] : types) find_column(names, name, "a column of data.types");
  const auto type = types.find(label);
  if (column_options.contains(label) || (type != types.end() && type->second != "categorical")) {
    throw UserError(
        fmt::format("column '{}' is the label: it takes no column options and is always categorical. "
                    "Remove it from columns and data.types.",
                    label));
  }
}

// classes_are_meant: the user says that the label is categorical, whatever it looks like.
void fit_classes(Schema& schema, const TextTable& table, int64_t label_column, const std::vector<int64_t>& rows,
                 bool classes_are_meant) {
  schema.classes = distinct_classes(table, label_column, schema.missing_marks, rows);
  if (!classes_are_meant) refuse_quantity(schema.label, schema.classes, std::ssize(rows));
  if (schema.classes.size() < 2) {
    throw UserError(
        fmt::format("the label '{}' has a single class in the training rows, '{}'; wanted two or more. "
                    "Check data.label and the split.",
                    schema.label, schema.classes.front()));
  }
  std::unordered_map<std::string_view, size_t> place;
  for (size_t i = 0; i < schema.classes.size(); ++i) place.emplace(schema.classes[i], i);
  schema.class_rows.assign(schema.classes.size(), 0);
  for (const int64_t row : rows) ++schema.class_rows[place.at(trim(table.cell(row, label_column)))];
}

}  // namespace

Schema fit_schema(const TextTable& table, int64_t label_column, const std::vector<int64_t>& training_rows,
                  const TableOptions& options, const std::map<std::string, ColumnOptions>& column_options,
                  const std::map<std::string, std::string>& types) {
  if (training_rows.empty()) {
    throw UserError("there are no training rows; give a file with rows below its header, or other split shares");
  }
  Schema schema;
  schema.label = table.names().at(static_cast<size_t>(label_column));
  schema.missing_marks = default_missing_marks;
  check_names(table.names(), schema.label, column_options, types);
  fit_classes(schema, table, label_column, training_rows, types.contains(schema.label));
  std::unordered_set<std::string> taken(table.names().begin(), table.names().end());
  for (int64_t column = 0; column < table.columns(); ++column) {
    const std::string& name = table.names()[static_cast<size_t>(column)];
    if (column == label_column) continue;
    const ColumnRequest request = column_request(name, column_options, types);
    if (request.type == "ignore") continue;
    const MissingMarks marks(schema.missing_marks, request.options.missing);
    ColumnFit fit{name, request, options, marks, table.places, present_cells(table, column, training_rows, marks)};
    fit.fit();
    if (fit.left_out.empty()) {
      add_column(schema, fit, taken);
    } else {
      log_warning(fmt::format("column '{}' is ignored: {}", name, fit.left_out));
    }
  }
  if (schema.columns.empty()) {
    throw UserError(
        "no input column is left beside the label: all are ignored, constant or empty. "
        "Check the file, its delimiter and data.types.");
  }
  return schema;
}

int64_t find_column(const std::vector<std::string>& names, std::string_view name, std::string_view what) {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found != names.end()) return found - names.begin();
  throw UserError(
      fmt::format("{} '{}' is not in the table; it has: {}.{}", what, name, list_some(names), did_you_mean(name, names)));
}

}  // namespace l0gm
