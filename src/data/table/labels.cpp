#include "data/table/labels.h"

#include <fmt/format.h>

#include <cmath>
#include <unordered_map>
#include <unordered_set>

#include "base/text.h"
#include "data/class_names.h"
#include "encode/table/schema.h"
#include "l0gm/error.h"

namespace l0gm {
namespace {

void refuse_missing_label(const TextTable& table, int64_t label_column, int64_t row) {
  throw UserError(
      fmt::format("{}: the label '{}' is missing (found '{}'). Fill it in or remove the row; if it is "
                  "meant as a class, give the class another name.",
                  table.places.of(row), table.names()[static_cast<size_t>(label_column)], table.cell(row, label_column)));
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

void refuse_quantity(const std::string& label, const std::vector<std::string>& classes, int64_t rows) {
  constexpr size_t most_numbers = 100, most_fractions = 20;
  constexpr int64_t fewest_rows = 3;  // of a class on average, where classes are many
  if (classes.size() <= most_fractions) return;
  bool whole = true, numbers = true;
  for (const std::string& name : classes) {
    const auto value = parse_double(name);
    numbers = numbers && value;
    whole = whole && value && *value == std::floor(*value);
  }
  if (!numbers) {
    if (classes.size() <= most_numbers || rows >= fewest_rows * std::ssize(classes)) return;
    throw UserError(fmt::format(
        "the label '{}' has {} different values ('{}' to '{}') in {} training rows: dates, names or numbers of its rows rather than "
        "classes. Name another column in data.label; if each value is a class, set columns.{}.type = \"categorical\".",
        label, with_thousands(std::ssize(classes)), classes.front(), classes.back(), with_thousands(rows), label));
  }
  if (whole && classes.size() <= most_numbers) return;
  throw UserError(fmt::format(
      "the label '{}' has {} different numbers in the training rows ({} to {}): a quantity, and each would be a class of "
      "its own. Cut it into a few classes in a column of its own (such as yes above a limit and no below) and name that "
      "one in data.label; if each number is a class, set columns.{}.type = \"categorical\".",
      label, with_thousands(std::ssize(classes)), classes.front(), classes.back(), label));
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
        fmt::format("{}{}: the label '{}' is '{}', a class that the training rows do not have; they have: "
                    "{}.{} Correct it, or add rows of that class to the training rows.",
                    table.places.of(row), where, table.names()[static_cast<size_t>(label_column)], label, list_some(classes),
                    did_you_mean(label, classes)));
  }
}

std::string small_classes(const TextTable& table, int64_t label_column, const std::vector<std::string>& classes,
                          std::span<const int64_t> training, std::span<const int64_t> validation, std::span<const int64_t> test) {
  constexpr int64_t enough = 10;
  const auto counted = [&](std::span<const int64_t> rows) {
    std::unordered_map<std::string_view, int64_t> counts;
    for (const int64_t row : rows) ++counts[trim(table.cell(row, label_column))];
    return counts;
  };
  auto trained = counted(training), validated = counted(validation), tested = counted(test);
  std::vector<std::string> small;
  for (const std::string& name : classes) {
    if (trained[name] >= enough) continue;
    small.push_back(fmt::format("'{}' ({} training, {} validation and {} test rows)", name, trained[name], validated[name],
                                tested[name]));
  }
  if (small.empty()) return "";
  return fmt::format(
      "the label '{}' has classes with fewer than {} training rows: {}. So few are hardly learned, and figures of such a class "
      "mean little: give more rows of it, join it with another class, or leave its rows out.",
      table.names()[static_cast<size_t>(label_column)], enough, list_some(small, 5));
}

}  // namespace l0gm
