#include "runtime/table_net.h"

#include <gtest/gtest.h>

#include <map>

#include "l0gm/error.h"
#include "support/temporary_folder.h"

namespace l0gm {
namespace {

Field field(const std::string& name, int64_t column, FieldKind kind) {
  Field result;
  result.name = name;
  result.column = column;
  result.kind = kind;
  return result;
}

// A column of every kind: slots 0 | 1 2 3 | 4 5 | 6 | 7 | 8 | 9 10, then a statistic.
Schema schema_of_all_kinds() {
  Schema schema;
  for (const char* name : {"town", "tags", "age", "size", "id", "year", "phase"}) schema.columns.emplace_back().name = name;
  Field town = field("town", 0, FieldKind::categorical), tags = field("tags", 1, FieldKind::multi);
  Field age = field("age", 2, FieldKind::piecewise), ages = field("age values", 2, FieldKind::exact);
  Field id = field("id", 4, FieldKind::hashed), year = field("year", 5, FieldKind::exact);
  Field phase = field("phase", 6, FieldKind::periodic), phases = field("phase values", 6, FieldKind::exact);
  town.vocabulary = {"a", "b", "c"};
  tags.vocabulary = {"x", "y"};
  tags.slots = 3;
  age.edges = {0, 10, 20, 30, 40};
  ages.values = {18, 21, 30};
  id.buckets = 100;
  year.values = {1999, 2000};
  phases.values = {0.5};
  const Field size = field("size", 3, FieldKind::plain), mean = field("mean", 0, FieldKind::statistic);
  schema.fields = {town, tags, age, ages, size, id, year, phase, phases, mean};
  return schema;
}

TEST(ColumnsOf, GivesEveryKindItsSlotsAndCounts) {
  const std::vector<NetColumn> columns = columns_of(schema_of_all_kinds());
  using Kind = NetColumn::Kind;
  struct Wanted {
    Kind kind;
    int64_t code_slot, value_slot, slots, codes, bins, known, table_rows;
  };
  const std::vector<Wanted> wanted = {
      {Kind::code, 0, -1, 1, 5, 0, 0, 5},   {Kind::several, 1, -1, 3, 4, 0, 0, 4},  {Kind::number, 5, 4, 1, 0, 4, 3, 12},
      {Kind::number, -1, 6, 1, 0, 1, 0, 3}, {Kind::code, 7, -1, 1, 101, 0, 0, 101}, {Kind::code, 8, -1, 1, 4, 0, 0, 4},
      {Kind::number, 10, 9, 1, 0, 1, 1, 4},
  };
  ASSERT_EQ(columns.size(), wanted.size());
  for (size_t c = 0; c < columns.size(); ++c) {
    SCOPED_TRACE(c);
    const NetColumn& column = columns[c];
    EXPECT_EQ(column.column, static_cast<int64_t>(c));
    EXPECT_EQ(column.kind, wanted[c].kind);
    EXPECT_EQ(column.code_slot, wanted[c].code_slot);
    EXPECT_EQ(column.value_slot, wanted[c].value_slot);
    EXPECT_EQ(column.slots, wanted[c].slots);
    EXPECT_EQ(column.codes, wanted[c].codes);
    EXPECT_EQ(column.bins, wanted[c].bins);
    EXPECT_EQ(column.known, wanted[c].known);
    EXPECT_EQ(column.table_rows(), wanted[c].table_rows);
    EXPECT_EQ(column.waves, 0);
    EXPECT_FALSE(column.folded);
    EXPECT_EQ(column.units, 0);
  }
}

TEST(ColumnsOf, RowsOfANumberFollowEachOther) {
  const NetColumn age = columns_of(schema_of_all_kinds())[2];
  EXPECT_EQ(age.row_of_bin(1), 1);
  EXPECT_EQ(age.row_of_bin(4), 4);
  EXPECT_EQ(age.row_of_known(2), 5);
  EXPECT_EQ(age.row_of_known(4), 7);
  EXPECT_EQ(age.first_factor_row(), 8);
}

TEST(ColumnsOf, RefusesSchemasThatNoFitProduces) {
  Schema twice = schema_of_all_kinds();
  twice.fields[4].column = 2;  // a second size of "age", none of "size"
  EXPECT_NE(message_of<UserError>([&] { columns_of(twice); }).find("'age' and 'size'"), std::string::npos);
  Schema two_exact = schema_of_all_kinds();
  two_exact.fields[6].column = 2;
  EXPECT_NE(message_of<UserError>([&] { columns_of(two_exact); }).find("'age values' and 'year'"), std::string::npos);
  Schema none = schema_of_all_kinds();
  none.columns.emplace_back().name = "empty";
  EXPECT_NE(message_of<UserError>([&] { columns_of(none); }).find("'empty' has no field"), std::string::npos);
  Schema mixed = schema_of_all_kinds();
  mixed.fields[3].kind = FieldKind::categorical;
  EXPECT_NE(message_of<UserError>([&] { columns_of(mixed); }).find("'age' has a numeric field beside a text field"),
            std::string::npos);
}

TableNet<Matrix> net_of_three_columns() {
  TableNet<Matrix> net;
  net.members = 2;
  net.outputs = 3;
  net.hidden = 4;
  net.columns.resize(3);
  net.columns[0].codes = 5;  // folded, and two units for the grid
  net.columns[0].folded = true;
  net.columns[0].units = 2;
  net.columns[1].codes = 7;  // three units
  net.columns[1].units = 3;
  net.columns[2].codes = 6;  // folded
  net.columns[2].folded = true;
  net.statistic_slots = {9};
  return net;
}

TEST(TableNet, ArrangePutsFoldedTablesFirstThenUnits) {
  TableNet<Matrix> net = net_of_three_columns();
  EXPECT_EQ(net.arrange(), 5 + 6 + 3 + 1);
  EXPECT_EQ(net.columns[0].wide_begin, 0);
  EXPECT_EQ(net.columns[1].wide_begin, -1);
  EXPECT_EQ(net.columns[2].wide_begin, 5);
  EXPECT_EQ(net.columns[0].unit_begin, 0);
  EXPECT_EQ(net.columns[1].unit_begin, 2);
  EXPECT_EQ(net.columns[2].unit_begin, -1);
  ASSERT_EQ(net.units.size(), 6u);
  const std::vector<int64_t> dense = {-1, -1, 11, 12, 13, 14};
  for (size_t u = 0; u < dense.size(); ++u) EXPECT_EQ(net.units[u].dense, dense[u]) << u;
}

TEST(TableNet, VisitNamesEveryArrayWithItsShape) {
  TableNet<Matrix> net = net_of_three_columns();
  net.arrange();
  net.unit_tables.resize(2);
  net.layers.resize(1);
  net.layers[0].in = 4;
  net.layers[0].out = 8;
  net.grid_fields = 3;
  net.grid_coordinates = 2;
  net.pairs.present = net.pairs.weighted = true;
  net.cin.present = true;
  net.cin.maps = {5};
  net.cin.weights.resize(1);
  net.cin.pooled.resize(1);
  std::map<std::string, std::pair<int64_t, int64_t>> shapes;
  net.visit([&](const std::string& name, Matrix&, int64_t rows, int64_t columns, ArrayKind) { shapes[name] = {rows, columns}; });
  const std::map<std::string, std::pair<int64_t, int64_t>> wanted = {{"base", {1, 14}},          {"wide", {15, 14}},
                                                                     {"column0.units", {5, 2}},  {"column1.units", {7, 3}},
                                                                     {"layer1.weights", {8, 8}}, {"layer1.bias", {1, 16}},
                                                                     {"output", {6, 8}},         {"pairs.weights", {6, 3}},
                                                                     {"cin1.weights", {9, 5}},   {"cin1.pooled", {6, 5}},
                                                                     {"cin.last", {6, 15}}};
  EXPECT_EQ(shapes, wanted);
}

}  // namespace
}  // namespace l0gm
