#pragma once

#include <cmath>
#include <memory>
#include <vector>

#include "data/table/batches.h"
#include "data/table/encode/schema.h"
#include "data/table/encoded.h"

namespace l0gm::testing_tools {

// Columns: size (plain), colour (two fields: its values, and piecewise for the sake of a column with several encodings), age
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
  return schema;
}

// Six rows; nobody has colour blue or a rare one, nor a missing age.
inline EncodedTable toy_rows() {
  EncodedTable table;
  table.fields = 5;
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

}  // namespace l0gm::testing_tools
