#include "data/table/encode/schema.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <unordered_set>

#include "l0gm/error.h"

namespace l0gm {
namespace {

using Json = nlohmann::json;

[[noreturn]] void refuse(std::string_view where, std::string_view what) {
  throw UserError(
      fmt::format("schema: {}: {}. The file is damaged or was not written by this program; make it again.", where, what));
}

const Json& member(const Json& json, std::string_view where, const char* key) {
  if (!json.is_object()) refuse(where, fmt::format("found {}, wanted an object", json.type_name()));
  const auto found = json.find(key);
  if (found == json.end()) refuse(where, fmt::format("'{}' is absent", key));
  return *found;
}

std::string text(const Json& json, std::string_view where, const char* key) {
  const Json& value = member(json, where, key);
  if (!value.is_string()) refuse(where, fmt::format("'{}' is {}, wanted a string", key, value.type_name()));
  return value.get<std::string>();
}

double number(const Json& json, std::string_view where, const char* key) {
  const Json& value = member(json, where, key);
  if (!value.is_number()) refuse(where, fmt::format("'{}' is {}, wanted a number", key, value.type_name()));
  const double result = value.get<double>();
  if (!std::isfinite(result)) refuse(where, fmt::format("'{}' is not finite", key));
  return result;
}

int64_t count(const Json& json, std::string_view where, const char* key) {
  const Json& value = member(json, where, key);
  if (!value.is_number_integer() || (value.is_number_unsigned() && value.get<uint64_t>() > uint64_t{INT64_MAX}) ||
      value.get<int64_t>() < 0) {
    refuse(where, fmt::format("'{}' is {}, wanted a whole number from 0", key, value.dump().substr(0, 40)));
  }
  return value.get<int64_t>();
}

const Json& array(const Json& json, std::string_view where, const char* key) {
  const Json& value = member(json, where, key);
  if (!value.is_array()) refuse(where, fmt::format("'{}' is {}, wanted an array", key, value.type_name()));
  return value;
}

std::vector<std::string> texts(const Json& json, std::string_view where, const char* key) {
  std::vector<std::string> result;
  for (const Json& item : array(json, where, key)) {
    if (!item.is_string()) refuse(where, fmt::format("'{}' holds {}, wanted strings", key, item.type_name()));
    result.push_back(item.get<std::string>());
  }
  return result;
}

void check_unique(const std::vector<std::string>& values, std::string_view where, const char* key) {
  std::unordered_set<std::string_view> seen;
  for (const std::string& value : values) {
    if (!seen.insert(value).second) refuse(where, fmt::format("'{}' holds '{}' twice", key, value));
  }
}

template <class Enum>
Enum enumerator(const Json& json, std::string_view where, const char* key) {
  const std::string name = text(json, where, key);
  for (size_t i = 0; i < enum_names<Enum>.size(); ++i) {
    if (enum_names<Enum>[i] == name) return static_cast<Enum>(i);
  }
  refuse(where, fmt::format("'{}' is '{}', which is not known here", key, name));
}

Json column_to_json(const Column& column) {
  Json json = {{"name", column.name}, {"type", name_of_enum(column.type)}, {"missing", column.missing}};
  if (column.type == ColumnType::numeric) {
    json.update({{"low", column.low}, {"high", column.high}, {"deviation", column.deviation}, {"integral", column.integral}});
  }
  if (!column.missing_marks.empty()) json["missing_marks"] = column.missing_marks;
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
  if (column.low > column.high || column.deviation < 0) refuse(where, "'low' is above 'high' or 'deviation' is negative");
  return column;
}

Json field_to_json(const Field& field) {
  Json json = {{"name", field.name}, {"column", field.column}, {"kind", name_of_enum(field.kind)}};
  if (field.kind == FieldKind::categorical) json["vocabulary"] = field.vocabulary;
  if (field.kind == FieldKind::piecewise) json["edges"] = field.edges;
  if (field.kind == FieldKind::plain) json.update({{"mean", field.mean}, {"deviation", field.deviation}});
  return json;
}

std::vector<double> edges_from_json(const Json& json, std::string_view where) {
  std::vector<double> edges;
  for (const Json& item : array(json, where, "edges")) {
    if (!item.is_number()) refuse(where, "'edges' must hold numbers");
    edges.push_back(item.get<double>());
    if (!std::isfinite(edges.back())) refuse(where, "an edge is not finite");
    if (edges.size() > 1 && !(edges[edges.size() - 2] < edges.back())) refuse(where, "'edges' do not increase");
  }
  if (edges.size() < 2) refuse(where, "'edges' must hold two numbers or more");
  return edges;
}

Field field_from_json(const Json& json, std::string_view where, const std::vector<Column>& columns) {
  Field field;
  field.name = text(json, where, "name");
  field.column = count(json, where, "column");
  field.kind = enumerator<FieldKind>(json, where, "kind");
  if (field.column >= static_cast<int64_t>(columns.size())) {
    refuse(where, fmt::format("it refers to column {}, there are {}", field.column, columns.size()));
  }
  if (field.kind != FieldKind::categorical && columns[static_cast<size_t>(field.column)].type != ColumnType::numeric) {
    refuse(where, "a numeric encoding of a column that is not numeric");
  }
  if (field.kind == FieldKind::categorical) {
    field.vocabulary = texts(json, where, "vocabulary");
    check_unique(field.vocabulary, where, "vocabulary");
  } else if (field.kind == FieldKind::piecewise) {
    field.edges = edges_from_json(json, where);
  } else {
    field.mean = number(json, where, "mean");
    field.deviation = number(json, where, "deviation");
    if (!(field.deviation > 0)) refuse(where, "'deviation' must be above 0");
  }
  return field;
}

void check_whole(const Schema& schema) {
  std::vector<std::string> column_names, field_names;
  std::vector<bool> used(schema.columns.size(), false);
  for (const Column& column : schema.columns) column_names.push_back(column.name);
  for (const Field& field : schema.fields) {
    field_names.push_back(field.name);
    used[static_cast<size_t>(field.column)] = true;
  }
  check_unique(column_names, "columns", "name");
  check_unique(field_names, "fields", "name");
  check_unique(schema.classes, "classes", "classes");
  for (size_t i = 0; i < used.size(); ++i) {
    if (!used[i]) refuse("fields", fmt::format("column '{}' has no field", column_names[i]));
  }
  if (schema.classes.size() < 2) refuse("classes", fmt::format("found {}, wanted two or more", schema.classes.size()));
  if (schema.label.empty()) refuse("label", "the name is empty");
}

}  // namespace

int64_t Field::rows() const {
  if (kind == FieldKind::categorical) return static_cast<int64_t>(vocabulary.size()) + 2;
  return kind == FieldKind::piecewise ? static_cast<int64_t>(edges.size()) : 2;  // bins + 1 = edges
}

nlohmann::json Schema::to_json() const {
  Json json = {{"label", label}, {"classes", classes}, {"missing_marks", missing_marks}};
  json["columns"] = Json::array();
  json["fields"] = Json::array();
  for (const Column& column : columns) json["columns"].push_back(column_to_json(column));
  for (const Field& field : fields) json["fields"].push_back(field_to_json(field));
  return json;
}

Schema Schema::from_json(const nlohmann::json& json) {
  Schema schema;
  schema.label = text(json, "top level", "label");
  schema.classes = texts(json, "top level", "classes");
  schema.missing_marks = texts(json, "top level", "missing_marks");
  size_t index = 0;
  for (const Json& item : array(json, "top level", "columns")) {
    schema.columns.push_back(column_from_json(item, fmt::format("column {}", index++)));
  }
  index = 0;
  for (const Json& item : array(json, "top level", "fields")) {
    schema.fields.push_back(field_from_json(item, fmt::format("field {}", index++), schema.columns));
  }
  check_whole(schema);
  return schema;
}

}  // namespace l0gm
