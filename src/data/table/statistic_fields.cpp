#include "data/table/statistic_fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <unordered_set>
#include <utility>

namespace l0gm {
namespace {

// Which classes get log odds, ascending.
std::vector<int64_t> classes_with_odds(const Schema& schema) {
  if (schema.classes.size() == 2) return {1};
  std::vector<int64_t> classes(schema.classes.size());
  std::iota(classes.begin(), classes.end(), int64_t{0});
  if (std::ssize(classes) <= most_classes_with_odds) return classes;
  std::stable_sort(classes.begin(), classes.end(), [&](int64_t a, int64_t b) {
    return schema.class_rows[static_cast<size_t>(a)] > schema.class_rows[static_cast<size_t>(b)];
  });
  classes.resize(static_cast<size_t>(most_classes_with_odds));
  std::sort(classes.begin(), classes.end());
  return classes;
}

std::string name_of(const Schema& schema, const KeyPart& part) {
  const std::string& column = schema.columns[static_cast<size_t>(schema.column_of(part))].name;
  return part.cut < 0 ? column : fmt::format("{}/{}", column, schema.cuts[static_cast<size_t>(part.cut)].edges.size() + 1);
}

}  // namespace

void add_statistic_fields(Schema& schema, const std::vector<ChosenStatistic>& chosen) {
  const std::vector<int64_t> classes = classes_with_odds(schema);
  std::unordered_set<std::string> names;
  for (const Field& field : schema.fields) names.insert(field.name);
  for (const ChosenStatistic& choice : chosen) {
    const int64_t statistic = std::ssize(schema.statistics);
    schema.statistics.push_back({choice.first, choice.second, {}, {}, {}});
    std::string key = name_of(schema, choice.first);
    if (!choice.second.empty()) key = fmt::format("{} x {}", key, name_of(schema, choice.second));
    const auto add = [&](std::string name, int64_t of_class, double deviation) {
      while (!names.insert(name).second) name += '\'';  // a column may itself be called "a x b"
      Field field;
      field.name = std::move(name);
      field.column = schema.column_of(choice.first);
      field.kind = FieldKind::statistic;
      field.statistic = statistic;
      field.of_class = of_class;
      field.deviation = deviation;
      schema.fields.push_back(std::move(field));
    };
    for (const int64_t c : classes) {
      const std::string of = schema.classes.size() == 2 ? "" : fmt::format(" of {}", schema.classes[static_cast<size_t>(c)]);
      add(fmt::format("{}: odds{}", key, of), c, choice.odds_deviation);
    }
    if (choice.with_rows) add(fmt::format("{}: rows", key), -1, 1);
  }
}

std::vector<FieldSpan> fields_of_statistics(const Schema& schema) {
  std::vector<FieldSpan> spans;
  for (size_t begin = 0, end = 0; begin < schema.fields.size(); begin = end) {
    const int64_t index = schema.fields[begin].statistic;
    for (end = begin + 1; end < schema.fields.size() && schema.fields[end].statistic == index;) ++end;
    if (index >= 0) spans.push_back({begin, end});
  }
  return spans;
}

}  // namespace l0gm
