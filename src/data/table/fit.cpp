#include "data/table/fit.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "base/log.h"
#include "base/text.h"
#include "l0gm/error.h"

namespace l0gm {
namespace {

constexpr std::string_view constant_column = "it has one value in the training rows";
constexpr size_t fewest_identifiers = 10;  // fewer texts can all differ by chance

// A column's training cells that are not missing, trimmed, and the rows they are in.
struct Cells {
  std::vector<std::string_view> texts;
  std::vector<int64_t> rows;
  int64_t missing = 0;
};

// What the user said about a column, from data.types and columns.NAME together.
struct Wish {
  std::string type;  // "": to be inferred
  ColumnOptions options;
};

Wish wish_for(const std::string& name, const std::map<std::string, ColumnOptions>& column_options,
              const std::map<std::string, std::string>& types) {
  Wish wish;
  if (const auto found = column_options.find(name); found != column_options.end()) wish.options = found->second;
  wish.type = wish.options.type;
  if (const auto found = types.find(name); found != types.end() && !found->second.empty()) {
    if (!wish.type.empty() && wish.type != found->second) {
      throw UserError(fmt::format("column '{}': data.types says '{}', columns.{}.type says '{}'. Keep one of them.", name,
                                  found->second, name, wish.type));
    }
    wish.type = found->second;
  }
  const auto& known = enum_names<ColumnType>;
  if (!wish.type.empty() && std::find(known.begin(), known.end(), wish.type) == known.end()) {
    throw UserError(fmt::format("column '{}': type '{}' is not known; use categorical, numeric or ignore", name, wish.type));
  }
  const std::string& encoding = wish.options.encoding;
  if (!encoding.empty() && encoding != "piecewise" && encoding != "plain") {
    throw UserError(fmt::format("columns.{}.encoding is '{}'; use piecewise or plain", name, encoding));
  }
  if (wish.type.empty() && (!encoding.empty() || wish.options.bins > 0)) wish.type = "numeric";
  return wish;
}

void check_wish(const std::string& name, const Wish& wish, ColumnType type) {
  if (type == ColumnType::categorical && (!wish.options.encoding.empty() || wish.options.bins > 0)) {
    throw UserError(fmt::format("columns.{}.encoding and .bins are for numeric columns, this one is categorical; "
                                "take them away or set columns.{}.type = \"numeric\"", name, name));
  }
  if (type == ColumnType::numeric && wish.options.min_count > 0) {
    throw UserError(fmt::format("columns.{}.min_count is for categorical columns, this one is numeric; "
                                "take it away or set columns.{}.type = \"categorical\"", name, name));
  }
}

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

// The cells as sorted numbers, not-a-number counted as missing; nothing when a cell is no number and none is demanded.
std::optional<std::vector<double>> sorted_numbers(const std::string& name, Cells& cells, bool demanded) {
  std::vector<double> values;
  values.reserve(cells.texts.size());
  std::optional<size_t> infinite;
  for (size_t i = 0; i < cells.texts.size(); ++i) {
    const auto value = parse_double(cells.texts[i]);
    if (!value) {
      if (!demanded) return std::nullopt;
      throw UserError(fmt::format("data row {}, column '{}': '{}' is not a number though the column is to be numeric. "
                                  "Correct it, or add it to columns.{}.missing.", cells.rows[i] + 1, name, cells.texts[i], name));
    }
    if (std::isinf(*value) && !infinite) infinite = i;
    if (!std::isnan(*value)) values.push_back(*value + 0.0);  // -0 becomes 0: equal numbers are then the same bits
  }
  if (infinite) {
    throw UserError(fmt::format("data row {}, column '{}': '{}' is infinite, wanted finite numbers. Correct it, add it to "
                                "columns.{}.missing, or set columns.{}.type = \"categorical\".",
                                cells.rows[*infinite] + 1, name, cells.texts[*infinite], name, name));
  }
  cells.missing += static_cast<int64_t>(cells.texts.size() - values.size());
  std::sort(values.begin(), values.end());
  return values;
}

bool all_whole(const std::vector<double>& values) {
  return std::all_of(values.begin(), values.end(), [](double value) { return value == std::floor(value); });
}

// 0, 1, 2 or 3 for "more".
int count_distinct(const std::vector<double>& sorted) {
  int count = sorted.empty() ? 0 : 1;
  for (size_t i = 1; i < sorted.size() && count < 3; ++i) count += sorted[i] != sorted[i - 1] ? 1 : 0;
  return count;
}

void fit_numeric(Column& column, Field& field, const std::vector<double>& sorted, const Wish& wish, int64_t table_bins) {
  // Long double and sorted order: no overflow, and the same bits whatever the order of the rows was.
  long double sum = 0, squares = 0;
  for (const double value : sorted) sum += value;
  const long double mean = sum / static_cast<long double>(sorted.size());
  for (const double value : sorted) squares += (value - mean) * (value - mean);
  column.low = sorted.front();
  column.high = sorted.back();
  column.deviation = static_cast<double>(std::sqrt(squares / static_cast<long double>(sorted.size())));
  column.integral = all_whole(sorted);
  if (wish.options.encoding == "plain" || column.low == column.high) {
    field.kind = FieldKind::plain;
    field.mean = static_cast<double>(mean);
    field.deviation = column.deviation > 0 ? column.deviation : 1.0;
  } else {
    field.kind = FieldKind::piecewise;
    field.edges = quantile_edges(sorted, wish.options.bins > 0 ? wish.options.bins : table_bins);
  }
}

using CategoryCounts = std::unordered_map<std::string_view, int64_t>;

void fit_categorical(const std::string& name, Field& field, const CategoryCounts& counts, int64_t min_count, int64_t most) {
  std::vector<std::pair<std::string_view, int64_t>> kept;
  for (const auto& entry : counts) {
    if (entry.second >= min_count) kept.push_back(entry);
  }
  if (static_cast<int64_t>(kept.size()) > most) {
    throw UserError(fmt::format("column '{}' has {} categories in the training rows, more than table.max_categories = {}. Set "
                                "columns.{}.type to \"ignore\" (an identifier?) or \"numeric\", or raise columns.{}.min_count "
                                "(now {}) or table.max_categories.",
                                name, with_thousands(static_cast<int64_t>(kept.size())), most, name, name, min_count));
  }
  std::sort(kept.begin(), kept.end(), [](const auto& a, const auto& b) {
    return a.second != b.second ? a.second > b.second : a.first < b.first;
  });
  field.kind = FieldKind::categorical;
  field.vocabulary.reserve(kept.size());
  for (const auto& entry : kept) field.vocabulary.emplace_back(entry.first);
}

void warn_ignored(const std::string& name, std::string_view why) {
  log_warning(fmt::format("column '{}' is ignored: {}", name, why));
}

// Adds the column and its field to the schema, or warns why not.
void fit_column(Schema& schema, const std::string& name, Cells cells, const Wish& wish, const TableOptions& options) {
  Column column;
  Field field;
  column.name = field.name = name;
  column.missing_marks = wish.options.missing;
  field.column = static_cast<int64_t>(schema.columns.size());
  std::optional<std::vector<double>> numbers;
  if (wish.type != "categorical") numbers = sorted_numbers(name, cells, wish.type == "numeric");
  if (cells.texts.empty() || (numbers && numbers->empty())) return warn_ignored(name, "all its training values are missing");
  if (numbers && count_distinct(*numbers) == 1 && cells.missing == 0) return warn_ignored(name, constant_column);

  if (numbers && wish.type.empty()) {
    const int distinct = count_distinct(*numbers);
    if (distinct == 1 || (distinct == 2 && all_whole(*numbers))) numbers.reset();  // a flag, not a quantity
  }
  column.type = numbers ? ColumnType::numeric : ColumnType::categorical;
  check_wish(name, wish, column.type);
  column.missing = cells.missing;
  if (numbers) {
    fit_numeric(column, field, *numbers, wish, options.bins);
  } else {
    CategoryCounts counts;
    for (const std::string_view text : cells.texts) ++counts[text];
    if (counts.size() == 1 && cells.missing == 0) return warn_ignored(name, constant_column);
    if (wish.type.empty() && counts.size() == cells.texts.size() && counts.size() >= fewest_identifiers) {
      return warn_ignored(name, fmt::format("its {} training values are all different, as an identifier's are; "
                                            "set data.types.{} = \"categorical\" to keep it",
                                            with_thousands(static_cast<int64_t>(counts.size())), name));
    }
    const int64_t min_count = wish.options.min_count > 0 ? wish.options.min_count : options.min_count;
    fit_categorical(name, field, counts, min_count, options.max_categories);
  }
  schema.columns.push_back(std::move(column));
  schema.fields.push_back(std::move(field));
}

void check_names(const std::vector<std::string>& names, const std::string& label,
                 const std::map<std::string, ColumnOptions>& column_options,
                 const std::map<std::string, std::string>& types, const std::vector<std::string>& ignored) {
  for (const auto& [name, unused] : column_options) find_column(names, name, "a column of the options (columns.NAME)");
  for (const auto& [name, unused] : types) find_column(names, name, "a column of data.types");
  for (const std::string& name : ignored) find_column(names, name, "the column to be ignored");
  const auto type = types.find(label);
  if (column_options.contains(label) || (type != types.end() && type->second != "categorical")) {
    throw UserError(fmt::format("column '{}' is the label: it takes no column options and is always categorical. "
                                "Take it out of columns and data.types.", label));
  }
}

}  // namespace

Schema fit_schema(const TextTable& table, int64_t label_column, const std::vector<int64_t>& training_rows,
                  const TableOptions& options, const std::map<std::string, ColumnOptions>& column_options,
                  const std::map<std::string, std::string>& types, const std::vector<std::string>& ignored_columns) {
  if (training_rows.empty()) {
    throw UserError("there are no training rows; give a file with rows below its header, or other split shares");
  }
  Schema schema;
  schema.label = table.names().at(static_cast<size_t>(label_column));
  schema.missing_marks = default_missing_marks;
  check_names(table.names(), schema.label, column_options, types, ignored_columns);
  schema.classes = distinct_classes(table, label_column, schema.missing_marks, training_rows);
  if (schema.classes.size() < 2) {
    throw UserError(fmt::format("the label '{}' has a single class in the training rows, '{}'; wanted two or more. "
                                "Check data.label and the split.", schema.label, schema.classes.front()));
  }
  const std::unordered_set<std::string_view> ignored(ignored_columns.begin(), ignored_columns.end());
  for (int64_t column = 0; column < table.columns(); ++column) {
    const std::string& name = table.names()[static_cast<size_t>(column)];
    if (column == label_column || ignored.contains(name)) continue;
    const Wish wish = wish_for(name, column_options, types);
    if (wish.type == "ignore") continue;
    const MissingMarks marks(schema.missing_marks, wish.options.missing);
    fit_column(schema, name, present_cells(table, column, training_rows, marks), wish, options);
  }
  if (schema.columns.empty()) {
    throw UserError("no input column is left beside the label: all are ignored, constant or empty. "
                    "Check the file, its delimiter and data.types.");
  }
  return schema;
}

std::vector<double> quantile_edges(std::span<const double> sorted, int64_t bins) {
  std::vector<double> distinct, edges, others;
  std::unique_copy(sorted.begin(), sorted.end(), std::back_inserter(distinct));
  if (static_cast<int64_t>(distinct.size()) <= bins + 1) return distinct;
  for (size_t i = 0, at = 0; i < distinct.size(); ++i) {
    const size_t start = at;
    while (at < sorted.size() && sorted[at] == distinct[i]) ++at;
    if (4 * (at - start) > sorted.size()) {
      edges.push_back(distinct[i]);
      if (i + 1 < distinct.size()) edges.push_back(distinct[i + 1]);
    } else {
      others.insert(others.end(), at - start, distinct[i]);
    }
  }
  for (int64_t k = 0; k <= bins && !others.empty(); ++k) {
    const int64_t last = static_cast<int64_t>(others.size()) - 1;
    edges.push_back(others[static_cast<size_t>((k * last + bins / 2) / bins)]);
  }
  std::sort(edges.begin(), edges.end());
  edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
  return edges;
}

}  // namespace l0gm
