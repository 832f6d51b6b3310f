#include "encode/table/statistic_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <string>
#include <utility>

#include "base/json_checks.h"

namespace l0gm {
namespace {

using namespace json_checks;

void take_arrays(Statistic& statistic, const Json& json, std::string_view where, int64_t most_keys, Statistic* separate) {
  if (separate == nullptr || json.contains("keys")) {
    statistic.keys = counts(json, where, "keys", 0, most_keys - 1);
    statistic.counts = counts(json, where, "counts", 1, most_rows);
    statistic.class_counts = counts(json, where, "class_counts", 0, most_rows);
    return;
  }
  statistic.keys = std::move(separate->keys);
  statistic.counts = std::move(separate->counts);
  statistic.class_counts = std::move(separate->class_counts);
  check_counts(statistic.keys, where, "keys", 0, most_keys - 1);
  check_counts(statistic.counts, where, "counts", 1, most_rows);
  check_counts(statistic.class_counts, where, "class_counts", 0, most_rows);
}

}  // namespace

void part_to_json(const KeyPart& part, const std::string& name, Json& json) {
  if (part.field >= 0) json[name] = part.field;
  if (part.cut >= 0) json[name + "_cut"] = part.cut;
}

KeyPart part_from_json(const Json& json, std::string_view where, const std::string& name, const Schema& schema) {
  const std::string name_of_cut = name + "_cut";
  if (json.contains(name_of_cut)) {
    if (json.contains(name)) refuse(where, fmt::format("it has both '{}' and '{}'", name, name_of_cut));
    const int64_t cut = count(json, where, name_of_cut.c_str());
    if (cut >= std::ssize(schema.cuts)) refuse(where, fmt::format("it refers to cut {}, there are {}", cut, schema.cuts.size()));
    return KeyPart::of_cut(cut);
  }
  if (name == "second" && !json.contains(name)) return {};
  const int64_t field = count(json, where, name.c_str());
  if (field >= std::ssize(schema.fields) || !schema.fields[static_cast<size_t>(field)].is_lookup()) {
    refuse(where, fmt::format("it refers to field {}, wanted a categorical, exact or hashed field", field));
  }
  return field;
}

Json statistic_to_json(const Statistic& statistic, bool with_arrays) {
  Json json = Json::object();
  part_to_json(statistic.first, "first", json);
  part_to_json(statistic.second, "second", json);
  if (with_arrays)
    json.update({{"keys", statistic.keys}, {"counts", statistic.counts}, {"class_counts", statistic.class_counts}});
  return json;
}

Statistic statistic_from_json(const Json& json, std::string_view where, const Schema& schema, Statistic* separate) {
  Statistic statistic;
  statistic.first = part_from_json(json, where, "first", schema);
  statistic.second = part_from_json(json, where, "second", schema);
  int64_t most_keys = schema.rows_of(statistic.first);
  if (statistic.of_pair()) {
    if (statistic.second == statistic.first) refuse(where, "'first' and 'second' are the same field");
    most_keys *= schema.rows_of(statistic.second);
  }
  take_arrays(statistic, json, where, most_keys, separate);
  const std::vector<int64_t>& keys = statistic.keys;
  if (std::adjacent_find(keys.begin(), keys.end(), std::greater_equal<>()) != keys.end()) refuse(where, "'keys' do not increase");
  const auto tracked = static_cast<size_t>(schema.tracked_classes());
  if (statistic.counts.size() != keys.size() || statistic.class_counts.size() != keys.size() * tracked) {
    refuse(where, fmt::format("found {} keys, {} counts and {} counts of classes, wanted one count per key and {} of classes",
                              keys.size(), statistic.counts.size(), statistic.class_counts.size(), tracked));
  }
  for (size_t i = 0; i < statistic.class_counts.size(); ++i) {
    if (statistic.class_counts[i] > statistic.counts[i / tracked]) refuse(where, "a class has more rows than its key");
  }
  return statistic;
}

std::vector<Cut> cuts_from_json(const Json& json, const Schema& schema) {
  std::vector<Cut> cuts;
  if (!json.contains("cuts")) return cuts;
  for (const Json& item : array(json, "top level", "cuts")) {
    const std::string where = fmt::format("cut {}", cuts.size());
    Cut& cut = cuts.emplace_back();
    cut.column = count(item, where, "column");
    if (cut.column >= std::ssize(schema.columns)) {
      refuse(where, fmt::format("it refers to column {}, there are {}", cut.column, schema.columns.size()));
    }
    if (schema.columns[static_cast<size_t>(cut.column)].type != ColumnType::numeric) refuse(where, "its column is not numeric");
    cut.edges = numbers(item, where, "edges");
    if (std::adjacent_find(cut.edges.begin(), cut.edges.end(), std::greater_equal<>()) != cut.edges.end())
      refuse(where, "'edges' do not increase");
  }
  if (std::ssize(cuts) > most_cuts) refuse("cuts", fmt::format("found {}, at most {} are allowed", cuts.size(), most_cuts));
  return cuts;
}

}  // namespace l0gm
