#include "data/table/labels.h"

#include <fmt/format.h>

#include <unordered_set>

#include "base/text.h"
#include "data/class_names.h"
#include "encode/table/schema.h"
#include "l0gm/error.h"

namespace l0gm {
namespace {

void refuse_missing_label(const TextTable& table, int64_t label_column, int64_t row) {
  throw UserError(
      fmt::format("data row {}: the label '{}' is missing (found '{}'). Fill it in or remove the row; if it is "
                  "meant as a class, give the class another name.",
                  row + 1, table.names()[static_cast<size_t>(label_column)], table.cell(row, label_column)));
}

}  // namespace

std::vector<std::string> distinct_classes(const TextTable& table, int64_t label_column,
                                          std::span<const std::string> missing_marks, std::span<const int64_t> rows) {
  const MissingMarks marks(missing_marks, {});
  std::unordered_set<std::string_view> seen;
  for (const int64_t row : rows) {
    const std::string_view label = trim(table.cell(row, label_column));
    if (marks.contains(label)) refuse_missing_label(table, label_column, row);
    seen.insert(label);
  }
  std::vector<std::string> classes(seen.begin(), seen.end());
  sort_class_names(classes);
  return classes;
}

void check_labels(const TextTable& table, int64_t label_column, const std::vector<std::string>& classes,
                  std::span<const std::string> missing_marks, std::span<const int64_t> rows, std::string_view part) {
  const MissingMarks marks(missing_marks, {});
  const std::unordered_set<std::string_view> known(classes.begin(), classes.end());
  for (const int64_t row : rows) {
    const std::string_view label = trim(table.cell(row, label_column));
    if (known.contains(label)) continue;
    if (marks.contains(label)) refuse_missing_label(table, label_column, row);
    const std::string where = part.empty() ? "" : fmt::format(" ({})", part);
    throw UserError(
        fmt::format("data row {}{}: the label '{}' is '{}', a class that the training rows do not have; they have: "
                    "{}.{} Correct it, or add rows of that class to the training rows.",
                    row + 1, where, table.names()[static_cast<size_t>(label_column)], label, list_some(classes),
                    did_you_mean(label, classes)));
  }
}

}  // namespace l0gm
