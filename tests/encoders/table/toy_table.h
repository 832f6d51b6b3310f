#pragma once

#include <cmath>
#include <memory>
#include <vector>

#include "batches/table/table_batches.h"
#include "data/table/encoded.h"
#include "encode/table/schema.h"

namespace l0gm::testing_tools {

// Columns: size (plain), colour (two fields: its values, and piecewise, so that a column has several encodings), age
// (piecewise, three bins, never missing in training), kind (categorical). Numeric and categorical fields alternate.
inline Schema toy_schema() {
  Schema schema;
  schema.columns.resize(4);
  const std::vector<std::string> names = {"size", "colour", "age", "kind"};
  for (size_t i = 0; i < names.size(); ++i) schema.columns[i].name = names[i];
  const auto field = [](const std::string& name, int64_t column, FieldKind kind) {
    Field result;
    result.name = name;
    result.column = column;
    result.kind = kind;
    return result;
  };
  schema.fields = {field("size", 0, FieldKind::plain), field("colour", 1, FieldKind::categorical),
                   field("age", 2, FieldKind::piecewise), field("kind", 3, FieldKind::categorical),
                   field("colour#bins", 1, FieldKind::piecewise)};
  schema.fields[1].vocabulary = {"red", "green", "blue"};
  schema.fields[2].edges = {0, 10, 20, 50};
  schema.fields[3].vocabulary = {"a"};
  schema.fields[4].edges = {0, 1};
  schema.label = "label";
  schema.classes = {"no", "yes"};
  schema.class_rows = {3, 3};
  return schema;
}

// Six rows; none has colour blue, a rare colour or a missing age.
inline EncodedTable toy_rows() {
  EncodedTable table;
  table.code_slots = table.slope_slots = 5;
  table.codes = {1, 2, 1, 2, 1,  //
                 1, 2, 2, 1, 1,  //
                 0, 3, 3, 2, 0,  //
                 1, 0, 3, 0, 1,  //
                 1, 3, 1, 2, 1,  //
                 1, 2, 3, 2, 1};
  table.slopes = {-1.5F, 0, 0.25F, 0, 0.5F,    //
                  0.5F,  0, 0.5F,  0, 1.0F,    //
                  0,     0, 3.0F,  0, 0,       //
                  2.0F,  0, 0.75F, 0, 0.125F,  //
                  1.0F,  0, -2.0F, 0, 0.25F,   //
                  0.25F, 0, 0.5F,  0, 0.0F};
  table.labels = {0, 1, 1, 0, 1, 0};
  table.row_numbers = {10, 11, 15, 20, 21, 30};
  return table;
}

// The same with everything that a table can have: columns of every kind, a field of several values, statistics of a column and of
// a pair.
inline Schema rich_schema() {
  Schema schema = toy_schema();
  const auto column = [&](const std::string& name, ColumnType type) {
    schema.columns.emplace_back();
    schema.columns.back().name = name;
    schema.columns.back().type = type;
    return static_cast<int64_t>(schema.columns.size()) - 1;
  };
  const auto add = [&](const std::string& name, int64_t of, FieldKind kind) -> Field& {
    schema.fields.emplace_back();
    schema.fields.back().name = name;
    schema.fields.back().column = of;
    schema.fields.back().kind = kind;
    return schema.fields.back();
  };
  add("age=", 2, FieldKind::exact).values = {17, 20};
  add("user", column("user", ColumnType::categorical), FieldKind::hashed).buckets = 3;
  Field& tags = add("tags", column("tags", ColumnType::multi), FieldKind::multi);
  tags.vocabulary = {"x", "y", "z"};
  tags.slots = 2;
  add("phase", column("phase", ColumnType::numeric), FieldKind::periodic);
  const auto statistic = [&](int64_t first, int64_t second, const std::string& name) {
    schema.statistics.push_back({first, second, {}, {}, {}});
    for (const int64_t of_class : {1, -1}) {
      Field& field = add(name + (of_class < 0 ? ": rows" : ": odds"), schema.fields[static_cast<size_t>(first)].column,
                         FieldKind::statistic);
      field.statistic = static_cast<int64_t>(schema.statistics.size()) - 1;
      field.of_class = of_class;
    }
  };
  statistic(1, -1, "colour");
  statistic(1, 3, "colour x kind");
  return schema;
}

// toy_rows() with codes and slopes for the further fields: exact age, user, two tags, phase; colour's and the pair's statistics.
inline EncodedTable rich_rows() {
  const EncodedTable plain = toy_rows();
  const std::vector<int32_t> codes = {2, 1, 2, 3, 1, 3, 2, 2, 0, 1, 1, 3, 0, 0, 1, 2, 0, 4, 2, 0, 3, 1, 3, 0, 1, 2, 2, 2, 4, 1};
  const std::vector<float> slopes = {0, 0, .5F, .5F, -1, 0, 0, 1, 0, .25F, 0, 0, 1,   0,   2,
                                     0, 0, .5F, .5F, 0,  0, 0, 1, 0, .5F,  0, 0, .5F, .5F, 1};
  EncodedTable table = plain;
  table.codes.clear();
  table.slopes.clear();
  table.code_slots = 10;
  table.slope_slots = 14;
  for (size_t row = 0; row < 6; ++row) {
    table.codes.insert(table.codes.end(), plain.codes.begin() + static_cast<int64_t>(row) * 5,
                       plain.codes.begin() + static_cast<int64_t>(row) * 5 + 5);
    table.codes.insert(table.codes.end(), codes.begin() + static_cast<int64_t>(row) * 5,
                       codes.begin() + static_cast<int64_t>(row) * 5 + 5);
    table.slopes.insert(table.slopes.end(), plain.slopes.begin() + static_cast<int64_t>(row) * 5,
                        plain.slopes.begin() + static_cast<int64_t>(row) * 5 + 5);
    table.slopes.insert(table.slopes.end(), slopes.begin() + static_cast<int64_t>(row) * 5,
                        slopes.begin() + static_cast<int64_t>(row) * 5 + 5);
    for (int k = 0; k < 4; ++k) table.slopes.push_back(0.3F * static_cast<float>(k) - 0.1F * static_cast<float>(row));
  }
  return table;
}

}  // namespace l0gm::testing_tools
