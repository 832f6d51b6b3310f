#include "data/table/fit.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>
#include <numeric>

#include "base/random.h"
#include "base/text.h"
#include "l0gm/error.h"

namespace l0gm {
namespace {

// A table with one input column "x" and the label "y", "a" and "b" in turn.
TextTable table_of(const std::vector<std::string>& cells) {
  TextTable table({"x", "y"});
  for (size_t i = 0; i < cells.size(); ++i) table.add_row({cells[i], i % 2 == 0 ? "a" : "b"});
  return table;
}

std::vector<int64_t> all_rows(const TextTable& table) {
  std::vector<int64_t> rows(static_cast<size_t>(table.rows()));
  std::iota(rows.begin(), rows.end(), 0);
  return rows;
}

struct Given {
  TableOptions table;
  std::map<std::string, ColumnOptions> columns;
  std::map<std::string, std::string> types;
  std::vector<std::string> ignored;
};

Schema fit(const TextTable& table, const Given& given = {}) {
  return fit_schema(table, table.column("y"), all_rows(table), given.table, given.columns, given.types, given.ignored);
}

Schema fit_cells(const std::vector<std::string>& cells, const Given& given = {}) {
  TextTable table({"x", "anchor", "y"});  // the anchor keeps the schema from being empty when x is left out
  for (size_t i = 0; i < cells.size(); ++i) table.add_row({cells[i], std::to_string(i % 3), i % 2 == 0 ? "a" : "b"});
  return fit(table, given);
}

std::string error_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const UserError& error) {
    return error.what();
  }
  return "no error";
}

testing::AssertionResult contains(const std::string& text, const std::vector<std::string>& parts) {
  for (const auto& part : parts) {
    if (text.find(part) == std::string::npos) return testing::AssertionFailure() << "'" << part << "' is not in: " << text;
  }
  return testing::AssertionSuccess();
}

TEST(FitSchema, InfersTypes) {
  EXPECT_EQ(fit_cells({"1", "2", " 3 ", "?"}).columns[0].type, ColumnType::numeric);
  EXPECT_EQ(fit_cells({"0", "1", "1", "0"}).columns[0].type, ColumnType::categorical);
  EXPECT_EQ(fit_cells({"0.5", "1.5", "0.5"}).columns[0].type, ColumnType::numeric);
  EXPECT_EQ(fit_cells({"1", "2", "x"}).columns[0].type, ColumnType::categorical);
  EXPECT_EQ(fit_cells({"5", "", "5"}).columns[0].type, ColumnType::categorical);
  const Schema schema = fit_cells({"1e3", "-2", "", "NaN", "+4"});
  const Column& column = schema.columns[0];
  EXPECT_EQ(column.type, ColumnType::numeric);
  EXPECT_EQ(column.low, -2);
  EXPECT_EQ(column.high, 1000);
  EXPECT_TRUE(column.integral);
  EXPECT_EQ(column.missing, 2);
  EXPECT_NEAR(column.deviation, std::sqrt((1000.0 * 1000 + 4 + 16) / 3 - 334.0 * 334), 1e-9);
}

TEST(FitSchema, TypesCanBeGiven) {
  Given given;
  given.types["x"] = "categorical";
  EXPECT_EQ(fit_cells({"1", "2", "3"}, given).fields[0].vocabulary, (std::vector<std::string>{"1", "2", "3"}));
  given.types["x"] = "ignore";
  EXPECT_EQ(fit_cells({"1", "2", "3"}, given).columns[0].name, "anchor");
  given.types["x"] = "numeric";
  EXPECT_EQ(fit_cells({"0", "1", "0"}, given).fields[0].edges, (std::vector<double>{0, 1}));
  EXPECT_TRUE(contains(error_of([&] { fit_cells({"0", "1", "oops"}, given); }),
                       {"data row 3", "column 'x'", "'oops' is not a number", "columns.x.missing"}));
  given.columns["x"].missing = {"oops"};
  const Schema schema = fit_cells({"0", "1", "oops"}, given);
  EXPECT_EQ(schema.columns[0].missing, 1);
  EXPECT_EQ(schema.columns[0].missing_marks, (std::vector<std::string>{"oops"}));
  given.columns["x"].type = "categorical";
  EXPECT_TRUE(contains(error_of([&] { fit_cells({"0", "1", "2"}, given); }), {"data.types says 'numeric'", "'categorical'"}));
  given.types["x"] = "text";
  given.columns.clear();
  EXPECT_TRUE(contains(error_of([&] { fit_cells({"0", "1", "2"}, given); }), {"type 'text' is not known"}));
  Given ignored;
  ignored.ignored = {"x"};
  EXPECT_EQ(fit_cells({"1", "2", "3"}, ignored).columns.size(), 1U);
}

TEST(FitSchema, ColumnsThatSayNothingAreLeftOut) {
  testing::internal::CaptureStderr();
  EXPECT_EQ(fit_cells({"7", "7.0", "7"}).columns[0].name, "anchor");
  EXPECT_EQ(fit_cells({"z", "z", "z"}).columns[0].name, "anchor");
  EXPECT_EQ(fit_cells({"", "NA", "?"}).columns[0].name, "anchor");
  std::vector<std::string> identifiers;
  for (int i = 0; i < 30; ++i) identifiers.push_back("id" + std::to_string(i));
  EXPECT_EQ(fit_cells(identifiers).columns[0].name, "anchor");
  const std::string warnings = testing::internal::GetCapturedStderr();
  EXPECT_TRUE(contains(warnings, {"column 'x' is ignored: it has one value", "all its training values are missing",
                                  "30 training values are all different", "data.types.x = \"categorical\""}));
  Given given;
  given.types["x"] = "categorical";
  EXPECT_EQ(fit_cells(identifiers, given).fields[0].rows(), 32);
  identifiers[3] = identifiers[4];
  EXPECT_EQ(fit_cells(identifiers).fields[0].vocabulary.size(), 29U);
  EXPECT_TRUE(contains(error_of([] { fit(table_of({"1", "1", "1"})); }), {"no input column is left"}));
}

TEST(FitSchema, OneValueAndMissingIsInformation) {
  EXPECT_EQ(fit_cells({"z", "", "z"}).fields[0].vocabulary, (std::vector<std::string>{"z"}));
  Given given;
  given.types["x"] = "numeric";
  const Schema schema = fit_cells({"7", "", "7"}, given);
  EXPECT_EQ(schema.fields[0].kind, FieldKind::plain);
  EXPECT_EQ(schema.fields[0].mean, 7);
  EXPECT_EQ(schema.fields[0].deviation, 1);
}

TEST(FitSchema, VocabularyIsByFallingCountThenText) {
  const std::vector<std::string> cells = {"b", "a", " c", "c ", "c", "d", "d", "e", ""};
  EXPECT_EQ(fit_cells(cells).fields[0].vocabulary, (std::vector<std::string>{"c", "d", "a", "b", "e"}));
  Given given;
  given.columns["x"].min_count = 2;
  EXPECT_EQ(fit_cells(cells, given).fields[0].vocabulary, (std::vector<std::string>{"c", "d"}));
  given.columns.clear();
  given.table.min_count = 3;
  EXPECT_EQ(fit_cells(cells, given).fields[0].vocabulary, (std::vector<std::string>{"c"}));
}

TEST(FitSchema, TooManyCategoriesAreRefused) {
  Given given;
  given.table.max_categories = 4;
  const std::vector<std::string> cells = {"b", "a", "c", "d", "d", "e"};
  EXPECT_TRUE(contains(error_of([&] { fit_cells(cells, given); }),
                       {"column 'x' has 5 categories", "max_categories = 4", "min_count"}));
  given.columns["x"].min_count = 2;
  EXPECT_EQ(fit_cells(cells, given).fields[0].vocabulary, (std::vector<std::string>{"d"}));
}

TEST(FitSchema, FiftyThousandCategories) {
  std::vector<std::string> cells;
  for (int i = 0; i < 100000; ++i) cells.push_back("c" + std::to_string(i % 50000));
  EXPECT_EQ(fit_cells(cells).fields[0].rows(), 50002);
}

TEST(FitSchema, InfinityIsRefusedInNumericColumnsOnly) {
  EXPECT_TRUE(contains(error_of([] { fit_cells({"1", "2", "-inf", "inf"}); }),
                       {"data row 3", "column 'x'", "'-inf' is infinite", "columns.x.missing"}));
  EXPECT_EQ(fit_cells({"1", "inf", "x"}).columns[0].type, ColumnType::categorical);
}

TEST(FitSchema, UnknownColumnsInOptionsAreRefused) {
  TextTable table({"income", "age", "y"});
  for (int i = 0; i < 6; ++i) table.add_row({std::to_string(i), std::to_string(i * i), i % 2 == 0 ? "a" : "b"});
  Given given;
  given.columns["incom"].bins = 4;
  EXPECT_TRUE(contains(error_of([&] { fit(table, given); }), {"'incom' is not in the table", "Did you mean 'income'?"}));
  given = {};
  given.types["agee"] = "numeric";
  EXPECT_TRUE(contains(error_of([&] { fit(table, given); }), {"'agee' is not in the table", "Did you mean 'age'?"}));
  given = {};
  given.ignored = {"Income"};
  EXPECT_TRUE(contains(error_of([&] { fit(table, given); }), {"'Income' is not in the table"}));
  given = {};
  given.types["y"] = "numeric";
  EXPECT_TRUE(contains(error_of([&] { fit(table, given); }), {"'y' is the label"}));
}

TEST(FitSchema, OptionsThatDoNotFitTheColumnAreRefused) {
  Given given;
  given.columns["x"].encoding = "periodic";
  EXPECT_TRUE(contains(error_of([&] { fit_cells({"1", "2", "3"}, given); }),
                       {"columns.x.encoding is 'periodic'", "piecewise or plain"}));
  given.columns["x"].encoding = "plain";
  EXPECT_EQ(fit_cells({"0", "1", "1"}, given).fields[0].kind, FieldKind::plain);  // a numeric encoding asks for a number
  given.columns["x"].type = "categorical";
  EXPECT_TRUE(contains(error_of([&] { fit_cells({"1", "2", "3"}, given); }), {"are for numeric columns"}));
  given = {};
  given.columns["x"].min_count = 2;
  EXPECT_TRUE(contains(error_of([&] { fit_cells({"1", "2", "3"}, given); }), {"is for categorical columns"}));
}

TEST(FitSchema, LabelsAreChecked) {
  TextTable table({"x", "y"});
  for (const char* label : {"10", "9", "10", " 9"}) table.add_row({std::to_string(table.rows()), label});
  EXPECT_EQ(fit(table).classes, (std::vector<std::string>{"9", "10"}));
  table.add_row({"5", "b"});
  EXPECT_EQ(fit(table).classes, (std::vector<std::string>{"10", "9", "b"}));
  const Schema schema = fit_schema(table, 1, {0, 1, 2, 3}, {}, {}, {}, {});
  const auto check = [&](const std::vector<int64_t>& rows) {
    check_labels(table, 1, schema.classes, schema.missing_marks, rows, "test");
  };
  check({0, 3});
  EXPECT_TRUE(contains(error_of([&] { check({0, 4}); }), {"data row 5 (test)", "label 'y' is 'b'", "9, 10"}));
  EXPECT_TRUE(contains(error_of([&] { fit_schema(table, 1, {0, 2}, {}, {}, {}, {}); }), {"single class", "'10'"}));
  EXPECT_TRUE(contains(error_of([&] { fit_schema(table, 1, {}, {}, {}, {}, {}); }), {"no training rows"}));
  table.add_row({"6", " ? "});
  EXPECT_TRUE(contains(error_of([&] { fit(table); }), {"data row 6", "label 'y' is missing"}));
  EXPECT_TRUE(contains(error_of([&] { check({5}); }), {"data row 6", "label 'y' is missing"}));
}

TEST(FitSchema, LooksAtTrainingRowsOnly) {
  TextTable table({"x", "y"});
  for (int i = 0; i < 20; ++i) table.add_row({std::to_string(i), i % 2 == 0 ? "a" : "b"});
  const std::string before = fit(table).to_json().dump();
  const std::vector<int64_t> training = all_rows(table);
  table.add_row({"not a number", ""});
  table.add_row({"inf", "c"});
  EXPECT_EQ(fit_schema(table, 1, training, {}, {}, {}, {}).to_json().dump(), before);
}

TEST(FitSchema, DoesNotDependOnTheOrderOfRows) {
  RandomStream random(5);
  TextTable table({"n", "c", "m", "y"});
  for (int i = 0; i < 2000; ++i) {
    const std::string zero_or_more = random.uniform() < 0.6 ? (i % 2 == 0 ? "0" : "-0.0") : shortest(random.normal() * 1e6);
    table.add_row({shortest(random.normal()), "c" + std::to_string(random.below(300)), zero_or_more, i % 3 == 0 ? "a" : "b"});
  }
  const std::string wanted = fit(table).to_json().dump();
  for (int round = 0; round < 5; ++round) {
    EXPECT_EQ(fit_schema(table, 3, random.permutation(table.rows()), {}, {}, {}, {}).to_json().dump(), wanted);
  }
}

TEST(QuantileEdges, FewValuesAreEdgesThemselves) {
  const std::vector<double> values = {1, 1, 1, 2, 5, 5};
  EXPECT_EQ(quantile_edges(values, 48), (std::vector<double>{1, 2, 5}));
  EXPECT_EQ(quantile_edges(values, 2), (std::vector<double>{1, 2, 5}));
}

TEST(QuantileEdges, BinsHoldEquallyMany) {
  std::vector<double> values;
  for (int i = 0; i <= 1000; ++i) values.push_back(i * i);
  const auto edges = quantile_edges(values, 10);
  ASSERT_EQ(edges.size(), 11U);
  for (int k = 0; k <= 10; ++k) EXPECT_EQ(edges[static_cast<size_t>(k)], 1e4 * k * k);
}

TEST(QuantileEdges, DuplicatesAreMerged) {
  std::vector<double> values;
  for (int i = 0; i < 100; ++i) values.push_back(i < 20 ? 1 : i < 40 ? 2 : i);
  const auto edges = quantile_edges(values, 10);
  EXPECT_TRUE(std::adjacent_find(edges.begin(), edges.end(), std::greater_equal<>()) == edges.end());
  EXPECT_EQ(edges.size(), 9U);  // 1, 1, 2, 2, then one for each further tenth
  EXPECT_EQ(edges.front(), 1);
  EXPECT_EQ(edges.back(), 99);
}

TEST(QuantileEdges, AFrequentValueHasABinOfItsOwn) {
  std::vector<double> values(920, 0.0);
  for (int i = 0; i < 80; ++i) values.push_back(114 + i * 10);
  const auto edges = quantile_edges(values, 8);
  ASSERT_EQ(edges.size(), 10U);
  EXPECT_EQ(edges[0], 0);
  EXPECT_EQ(edges[1], 114);
  EXPECT_EQ(edges[9], 904);
  // In the middle too.
  values.assign(500, 40.0);
  for (int i = 0; i < 500; ++i) values.push_back(i < 250 ? i * 0.1 : 41 + i * 0.1);
  std::sort(values.begin(), values.end());
  const auto middle = quantile_edges(values, 8);
  const auto at = std::find(middle.begin(), middle.end(), 40.0);
  ASSERT_NE(at, middle.end());
  EXPECT_EQ(*(at + 1), 66.0);
  EXPECT_LE(middle.size(), 11U);
}

TEST(QuantileEdges, OneBinAndNothingButFrequentValues) {
  const std::vector<double> values = {1, 2, 3};
  EXPECT_EQ(quantile_edges(values, 1), (std::vector<double>{1, 2, 3}));
  const std::vector<double> five = {1, 2, 3, 4, 5};
  EXPECT_EQ(quantile_edges(five, 1), (std::vector<double>{1, 5}));
}

}  // namespace
}  // namespace l0gm
