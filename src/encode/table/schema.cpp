#include "encode/table/schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "base/json_checks.h"
#include "encode/table/cell_text.h"
#include "encode/table/number_text.h"
#include "encode/table/statistic_json.h"
#include "encode/table/tree_json.h"

namespace l0gm {
namespace {

using namespace json_checks;

Json column_to_json(const Column& column) {
  Json json = {{"name", column.name}, {"type", name_of_enum(column.type)}, {"missing", column.missing}};
  if (column.type == ColumnType::numeric) {
    json.update({{"low", column.low}, {"high", column.high}, {"deviation", column.deviation}, {"integral", column.integral}});
  }
  if (!column.missing_marks.empty()) json["missing_marks"] = column.missing_marks;
  if (column.notation == date_notation) {
    json["date"] = true;
  } else if (column.notation != 0) {
    json["decimal"] = std::string(1, column.notation);
  }
  return json;
}

Column column_from_json(const Json& json, std::string_view where) {
  Column column;
  column.name = text(json, where, "name");
  column.type = enumerator<ColumnType>(json, where, "type");
  column.missing = count(json, where, "missing");
  if (column.name.empty()) refuse(where, "the name is empty");
  if (column.type == ColumnType::ignore) refuse(where, "an ignored column is not an input");
  if (json.contains("missing_marks")) column.missing_marks = texts(json, where, "missing_marks");
  if (column.type != ColumnType::numeric) return column;
  column.low = number(json, where, "low");
  column.high = number(json, where, "high");
  column.deviation = number(json, where, "deviation");
  const Json& integral = member(json, where, "integral");
  if (!integral.is_boolean()) refuse(where, "'integral' must be true or false");
  column.integral = integral.get<bool>();
  if (json.contains("decimal")) {
    const std::string decimal = text(json, where, "decimal");
    if (decimal != "." && decimal != ",") refuse(where, "'decimal' must be a point or a comma");
    column.notation = decimal[0];
  }
  if (json.contains("date")) {
    if (json["date"] != true || column.notation != 0) refuse(where, "'date' must be true, and stands without 'decimal'");
    column.notation = date_notation;
  }
  if (column.low > column.high || column.deviation < 0) refuse(where, "'low' is above 'high' or 'deviation' is negative");
  return column;
}

Json field_to_json(const Field& field) {
  Json json = {{"name", field.name}, {"column", field.column}, {"kind", name_of_enum(field.kind)}};
  switch (field.kind) {
    case FieldKind::categorical:
      json["vocabulary"] = field.vocabulary;
      break;
    case FieldKind::exact:
      json["values"] = field.values;
      break;
    case FieldKind::hashed:
      json["buckets"] = field.buckets;
      break;
    case FieldKind::multi:
      json.update({{"vocabulary", field.vocabulary}, {"slots", field.slots}, {"separator", std::string(1, field.separator)}});
      break;
    case FieldKind::piecewise:
      json["edges"] = field.edges;
      break;
    case FieldKind::statistic:
      json["statistic"] = field.statistic;
      if (field.of_class >= 0) json["of_class"] = field.of_class;
      [[fallthrough]];
    case FieldKind::plain:
    case FieldKind::periodic:
      json.update({{"mean", field.mean}, {"deviation", field.deviation}});
      break;
  }
  return json;
}

std::vector<double> edges_from_json(const Json& json, std::string_view where) {
  std::vector<double> edges = numbers(json, where, "edges");
  if (edges.size() < 2) refuse(where, "'edges' must hold two numbers or more");
  if (std::adjacent_find(edges.begin(), edges.end(), std::greater_equal<>()) != edges.end())
    refuse(where, "'edges' do not increase");
  return edges;
}

std::vector<double> values_from_json(const Json& json, std::string_view where) {
  std::vector<double> values = numbers(json, where, "values"), sorted = values;
  std::sort(sorted.begin(), sorted.end());
  if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end()) refuse(where, "'values' holds a number twice");
  return values;
}

void check_kind(FieldKind kind, ColumnType type, std::string_view where) {
  const bool of_texts = kind == FieldKind::categorical || kind == FieldKind::hashed;
  const ColumnType wanted = of_texts                   ? ColumnType::categorical
                            : kind == FieldKind::multi ? ColumnType::multi
                                                       : ColumnType::numeric;
  if (kind == FieldKind::statistic || type == wanted) return;
  refuse(where, fmt::format("its kind is '{}', its column is not {}", name_of_enum(kind), name_of_enum(wanted)));
}

Field field_from_json(const Json& json, std::string_view where, const std::vector<Column>& columns) {
  Field field;
  field.name = text(json, where, "name");
  field.column = count(json, where, "column");
  field.kind = enumerator<FieldKind>(json, where, "kind");
  if (field.column >= static_cast<int64_t>(columns.size())) {
    refuse(where, fmt::format("it refers to column {}, there are {}", field.column, columns.size()));
  }
  check_kind(field.kind, columns[static_cast<size_t>(field.column)].type, where);
  if (field.kind == FieldKind::categorical || field.kind == FieldKind::multi) {
    field.vocabulary = texts(json, where, "vocabulary");
    check_unique(field.vocabulary, where, "vocabulary");
  }
  if (field.kind == FieldKind::exact) field.values = values_from_json(json, where);
  if (field.kind == FieldKind::hashed) field.buckets = count(json, where, "buckets", 1, most_buckets);
  if (field.kind == FieldKind::piecewise) field.edges = edges_from_json(json, where);
  if (field.kind == FieldKind::multi) {
    field.slots = count(json, where, "slots", 1, most_slots);
    const std::string separator = text(json, where, "separator");
    if (separator.size() != 1 || !can_separate(separator[0])) {
      refuse(where, "'separator' must be one ASCII character other than a quote or a line end");
    }
    field.separator = separator[0];
  }
  if (field.kind == FieldKind::statistic) {
    field.statistic = count(json, where, "statistic");
    if (json.contains("of_class")) field.of_class = count(json, where, "of_class");
  }
  if (field.kind == FieldKind::plain || field.kind == FieldKind::periodic || field.kind == FieldKind::statistic) {
    field.mean = number(json, where, "mean");
    field.deviation = number(json, where, "deviation");
    if (!(field.deviation > 0)) refuse(where, "'deviation' must be above 0");
  }
  return field;
}

void check_statistic_fields(const Schema& schema) {
  bool after_statistic = false;
  for (const Field& field : schema.fields) {
    const std::string where = fmt::format("field '{}'", field.name);
    if (field.kind != FieldKind::statistic) {
      if (after_statistic) refuse(where, "it comes after a statistic, wanted before all statistics");
      continue;
    }
    after_statistic = true;
    if (field.statistic >= static_cast<int64_t>(schema.statistics.size())) {
      refuse(where, fmt::format("it refers to statistic {}, there are {}", field.statistic, schema.statistics.size()));
    }
    const KeyPart& first = schema.statistics[static_cast<size_t>(field.statistic)].first;
    if (field.column != schema.column_of(first)) refuse(where, "'column' is not that of its statistic");
    const auto classes = static_cast<int64_t>(schema.classes.size());
    if (field.of_class >= classes || (classes == 2 && field.of_class == 0)) {
      refuse(where, fmt::format("'of_class' is {}, which is not counted for {} classes", field.of_class, classes));
    }
  }
}

void check_classes(const Schema& schema) {
  check_unique(schema.classes, "classes", "classes");
  if (schema.classes.size() < 2) refuse("classes", fmt::format("found {}, wanted two or more", schema.classes.size()));
  if (schema.class_rows.size() != schema.classes.size()) {
    refuse("class_rows",
           fmt::format("found {}, wanted one for each of {} classes", schema.class_rows.size(), schema.classes.size()));
  }
  int64_t total = 0;
  for (const int64_t rows : schema.class_rows) {
    total += rows;  // each is at most most_rows: no overflow before the check below
    if (total > most_rows) refuse("class_rows", "more rows than a table can have");
  }
}

void check_consistency(const Schema& schema) {
  std::vector<std::string> column_names, field_names;
  std::vector<bool> used(schema.columns.size(), false);
  for (const Column& column : schema.columns) column_names.push_back(column.name);
  for (const Field& field : schema.fields) {
    field_names.push_back(field.name);
    if (field.kind != FieldKind::statistic) used[static_cast<size_t>(field.column)] = true;
  }
  check_unique(column_names, "columns", "name");
  check_unique(field_names, "fields", "name");
  for (size_t i = 0; i < used.size(); ++i) {
    if (!used[i]) refuse("fields", fmt::format("column '{}' has no field", column_names[i]));
  }
  check_statistic_fields(schema);
  if (schema.label.empty()) refuse("label", "the name is empty");
  if (!(schema.smoothing > 0)) refuse("smoothing", "it must be above 0");
}

}  // namespace

int64_t Field::rows() const {
  switch (kind) {
    case FieldKind::categorical:
    case FieldKind::multi:
      return static_cast<int64_t>(vocabulary.size()) + 2;
    case FieldKind::exact:
      return static_cast<int64_t>(values.size()) + 2;
    case FieldKind::hashed:
      return buckets + 1;
    case FieldKind::piecewise:
      return static_cast<int64_t>(edges.size());  // bins + 1 = edges
    case FieldKind::plain:
    case FieldKind::periodic:
      return 2;
    case FieldKind::statistic:
      break;
  }
  return 0;
}

int64_t Schema::code_slots() const {
  int64_t slots = 0;
  for (const Field& field : fields) slots += field.kind == FieldKind::statistic ? 0 : field.slots;
  return slots;
}

int64_t Schema::statistic_slots() const {
  return std::count_if(fields.begin(), fields.end(), [](const Field& field) { return field.kind == FieldKind::statistic; });
}

int64_t Schema::rows_of(const KeyPart& part) const {
  return part.cut >= 0 ? cuts[static_cast<size_t>(part.cut)].rows() : fields[static_cast<size_t>(part.field)].rows();
}

int64_t Schema::column_of(const KeyPart& part) const {
  return part.cut >= 0 ? cuts[static_cast<size_t>(part.cut)].column : fields[static_cast<size_t>(part.field)].column;
}

std::vector<int64_t> Schema::columns_of(const TreeInput& input) const {
  if (!input.is_statistic()) return {column_of(input.part)};
  const Statistic& statistic = statistics[static_cast<size_t>(fields[static_cast<size_t>(input.part.field)].statistic)];
  std::vector<int64_t> found = {column_of(statistic.first)};
  if (statistic.of_pair()) found.push_back(column_of(statistic.second));
  return found;
}

nlohmann::json Schema::to_json(bool with_arrays) const {
  Json json = {{"label", label}, {"classes", classes}, {"class_rows", class_rows}, {"missing_marks", missing_marks}};
  json["smoothing"] = smoothing;
  json["columns"] = json["fields"] = json["statistics"] = Json::array();
  for (const Column& column : columns) json["columns"].push_back(column_to_json(column));
  for (const Field& field : fields) json["fields"].push_back(field_to_json(field));
  for (const Cut& cut : cuts) json["cuts"].push_back({{"column", cut.column}, {"edges", cut.edges}});
  for (const Statistic& statistic : statistics) json["statistics"].push_back(statistic_to_json(statistic, with_arrays));
  if (!trees.empty()) json["trees"] = trees_to_json(trees, with_arrays);
  return json;
}

Schema Schema::from_json(const nlohmann::json& json, std::vector<Statistic>* arrays, TreeScores* tree_arrays) {
  Schema schema;
  schema.label = text(json, "top level", "label");
  schema.classes = texts(json, "top level", "classes");
  schema.class_rows = counts(json, "top level", "class_rows", 1, most_rows);
  schema.missing_marks = texts(json, "top level", "missing_marks");
  schema.smoothing = number(json, "top level", "smoothing");
  check_classes(schema);
  size_t index = 0;
  for (const Json& item : array(json, "top level", "columns")) {
    schema.columns.push_back(column_from_json(item, fmt::format("column {}", index++)));
  }
  index = 0;
  for (const Json& item : array(json, "top level", "fields")) {
    schema.fields.push_back(field_from_json(item, fmt::format("field {}", index++), schema.columns));
  }
  schema.cuts = cuts_from_json(json, schema);
  index = 0;
  const Json& statistics = array(json, "top level", "statistics");
  if (arrays != nullptr && arrays->size() != statistics.size()) {
    refuse("statistics", fmt::format("found arrays of {}, wanted those of {}", arrays->size(), statistics.size()));
  }
  for (const Json& item : statistics) {
    Statistic* const separate = arrays == nullptr ? nullptr : &(*arrays)[index];
    schema.statistics.push_back(statistic_from_json(item, fmt::format("statistic {}", index++), schema, separate));
  }
  if (json.contains("trees")) schema.trees = trees_from_json(json["trees"], schema, tree_arrays);
  check_consistency(schema);
  return schema;
}

}  // namespace l0gm
