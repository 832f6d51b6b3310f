#include "data/table/fit.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/random.h"
#include "base/text.h"
#include "data/table/fit_tools.h"

namespace l0gm {
namespace {

using namespace fit_tools;

// A table with one input column "x" and the label "y", "a" and "b" in turn.
TextTable table_of(const std::vector<std::string>& cells) {
  TextTable table({"x", "y"});
  for (size_t i = 0; i < cells.size(); ++i) table.add_row({cells[i], i % 2 == 0 ? "a" : "b"});
  return table;
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
  EXPECT_TRUE(contains(error_of([&] { fit_cells({"0", "1", "oops", "oops", "oops"}, given); }),
                       {"data row 3", "column 'x'", "'oops' is not a number", "3 of its 5 cells", "columns.x.missing"}));
  EXPECT_EQ(fit_cells({"0", "1", "oops"}, given).columns[0].missing, 1);
  given.columns["x"].missing = {"oops"};
  const Schema schema = fit_cells({"0", "1", "oops"}, given);
  EXPECT_EQ(schema.columns[0].missing, 1);
  EXPECT_EQ(schema.columns[0].missing_marks, (std::vector<std::string>{"oops"}));
  given.columns["x"].type = "categorical";
  EXPECT_TRUE(contains(error_of([&] { fit_cells({"0", "1", "2"}, given); }), {"data.types says 'numeric'", "'categorical'"}));
  given.types["x"] = "text";
  given.columns.clear();
  EXPECT_TRUE(contains(error_of([&] { fit_cells({"0", "1", "2"}, given); }),
                       {"type 'text' is not known; use categorical, numeric, multi or ignore"}));
}

TEST(FitSchema, UninformativeColumnsAreLeftOut) {
  testing::internal::CaptureStderr();
  EXPECT_EQ(fit_cells({"7", "7.0", "7"}).columns[0].name, "anchor");
  EXPECT_EQ(fit_cells({"z", "z", "z"}).columns[0].name, "anchor");
  EXPECT_EQ(fit_cells({"", "NA", "?"}).columns[0].name, "anchor");
  std::vector<std::string> identifiers;
  for (int i = 0; i < 30; ++i) identifiers.push_back("id" + std::to_string(i));
  EXPECT_EQ(fit_cells(identifiers).columns[0].name, "anchor");
  const std::string warnings = testing::internal::GetCapturedStderr();
  EXPECT_TRUE(contains(warnings, {"column 'x' is ignored: it has one value", "all its training values are missing",
                                  "30 training values are all different", "columns.x.type = \"categorical\""}));
  Given given;
  given.types["x"] = "categorical";
  EXPECT_EQ(fit_cells(identifiers, given).fields[0].rows(), 32);
  identifiers[3] = identifiers[4];
  EXPECT_EQ(fit_cells(identifiers).columns[0].name, "anchor");
  identifiers[6] = identifiers[7];
  EXPECT_EQ(fit_cells(identifiers).fields[0].vocabulary.size(), 28U);
  EXPECT_TRUE(contains(error_of([] { fit(table_of({"1", "1", "1"})); }), {"no input column is left"}));
}

TEST(FitSchema, NumbersThatNameRowsAreLeftOut) {
  std::vector<std::string> numbers;
  for (int i = 0; i < 30; ++i) numbers.push_back(std::to_string(1000 + (i * 7) % 30));
  testing::internal::CaptureStderr();
  EXPECT_EQ(fit_cells(numbers).columns[0].name, "anchor");
  EXPECT_TRUE(contains(testing::internal::GetCapturedStderr(),
                       {"column 'x' is ignored: its 30 whole numbers are nearly all different", "columns.x.type = \"numeric\""}));
  Given given;
  given.types["x"] = "numeric";
  EXPECT_EQ(fit_cells(numbers, given).columns[0].type, ColumnType::numeric);
}

// Numbers with a few cells of another kind, and how the schema reads them.
TEST(FitSchema, ABadCellIsMissingAndTheColumnStaysNumeric) {
  std::vector<std::string> cells;
  for (int i = 0; i < 40; ++i) cells.push_back(std::to_string(i / 4));
  cells[7] = "24\"";
  cells[9] = "unknown";
  TextTable table({"x", "y"});
  table.places.begin_file("houses.csv");
  for (size_t i = 0; i < cells.size(); ++i) {
    table.places.add(table.rows(), static_cast<int64_t>(i) + 2);
    table.add_row({cells[i], i % 2 == 0 ? "a" : "b"});
  }
  testing::internal::CaptureStderr();
  const Schema schema = fit(table);
  const std::string warnings = testing::internal::GetCapturedStderr();
  EXPECT_EQ(schema.columns[0].type, ColumnType::numeric);
  EXPECT_EQ(schema.columns[0].missing, 2);
  EXPECT_EQ(schema.columns[0].high, 9);
  EXPECT_TRUE(contains(warnings, {"column 'x': 2 of 40 cells are not numbers and count as missing",
                                  "the first is '24\"' in houses.csv: line 9", "columns.x.type = \"categorical\""}));
}

TEST(FitSchema, ADecimalCommaIsReadAndRemembered) {
  const Schema schema = fit_cells({"1,5", "2,25", "1.000,5", "3", "4", "5,5", "6,5", "7,5", "8,5", "9,5", "0,5", "2,5"});
  EXPECT_EQ(schema.columns[0].type, ColumnType::numeric);
  EXPECT_EQ(schema.columns[0].notation, ',');
  EXPECT_EQ(schema.columns[0].high, 1000.5);
  EXPECT_EQ(Schema::from_json(schema.to_json()).columns[0].notation, ',');
  nlohmann::json forged = schema.to_json();
  forged["columns"][0]["decimal"] = ";";
  EXPECT_TRUE(contains(error_of([&] { Schema::from_json(forged); }), {"'decimal' must be a point or a comma"}));
}

TEST(FitSchema, DatesAreDays) {
  std::vector<std::string> cells;
  for (int i = 0; i < 28; ++i) cells.push_back(fmt::format("2024-01-{:02}", i + 1));
  cells.push_back("soon");
  const Schema schema = fit_cells(cells);
  EXPECT_EQ(schema.columns[0].type, ColumnType::numeric);
  EXPECT_EQ(schema.columns[0].low, 19723);
  EXPECT_EQ(schema.columns[0].high, 19750);
  EXPECT_EQ(schema.columns[0].missing, 1);
  EXPECT_EQ(Schema::from_json(schema.to_json()).columns[0].notation, 'd');
  nlohmann::json forged = schema.to_json();
  forged["columns"][0]["decimal"] = ",";
  EXPECT_TRUE(contains(error_of([&] { Schema::from_json(forged); }), {"stands without 'decimal'"}));
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
  given.types["y"] = "numeric";
  EXPECT_TRUE(contains(error_of([&] { fit(table, given); }), {"'y' is the label"}));
}

TEST(FitSchema, OptionsThatDoNotFitTheColumnAreRefused) {
  Given given;
  given.columns["x"].encoding = "fourier";
  EXPECT_TRUE(contains(error_of([&] { fit_cells({"1", "2", "3"}, given); }),
                       {"columns.x.encoding is 'fourier'", "piecewise, plain or periodic"}));
  given.columns["x"].encoding = "plain";
  EXPECT_EQ(fit_cells({"0", "1", "1"}, given).fields[0].kind, FieldKind::plain);  // a numeric encoding asks for a number
  given.columns["x"].type = "categorical";
  EXPECT_TRUE(contains(error_of([&] { fit_cells({"1", "2", "3"}, given); }), {"are for numeric columns"}));
  given = {};
  given.columns["x"].exact_values = ExactValues::on;
  given.columns["x"].type = "multi";
  EXPECT_TRUE(contains(error_of([&] { fit_cells({"1", "2", "3"}, given); }), {"are for numeric columns, this one is multi"}));
}

TEST(FitSchema, PeriodicEncodingIsScaledByTheTrainingRows) {
  Given given;
  given.columns["x"].encoding = "periodic";
  const Schema schema = fit_cells({"1", "2", "6"}, given);
  EXPECT_EQ(schema.fields[0].kind, FieldKind::periodic);
  EXPECT_EQ(schema.fields[0].mean, 3);
  EXPECT_NEAR(schema.fields[0].deviation, std::sqrt(14.0 / 3), 1e-12);
}

// 20 different values, value i in 10 + i rows.
std::vector<std::string> few_numbers() {
  std::vector<std::string> cells;
  for (int i = 0; i < 20; ++i) cells.insert(cells.end(), static_cast<size_t>(10 + i), std::to_string(i));
  return cells;
}

TEST(FitSchema, ExactValuesOfAColumnWithFewNumbers) {
  const Schema schema = fit_cells(few_numbers());
  ASSERT_EQ(schema.columns.size(), 2U);
  ASSERT_EQ(schema.fields.size(), 4U);
  EXPECT_EQ(schema.fields[0].name, "x");
  EXPECT_EQ(schema.fields[0].kind, FieldKind::piecewise);
  EXPECT_EQ(schema.fields[1].name, "x=");  // right behind
  EXPECT_EQ(schema.fields[1].kind, FieldKind::exact);
  EXPECT_EQ(schema.fields[1].column, 0);
  ASSERT_EQ(schema.fields[1].values.size(), 20U);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(schema.fields[1].values[static_cast<size_t>(i)], 19 - i);  // by descending count
  EXPECT_EQ(schema.fields[2].name, "anchor");
}

TEST(FitSchema, ExactValuesCanBeTurnedOff) {
  Given given;
  given.table.exact_values = ExactValues::off;
  EXPECT_EQ(fit_cells(few_numbers(), given).fields.size(), 2U);
  given.columns["x"].min_count = 12;
  EXPECT_TRUE(contains(error_of([&] { fit_cells(few_numbers(), given); }), {"columns.x.min_count", "exact values are off"}));
  given.columns["x"].exact_values = ExactValues::automatic;  // the column's own option is used
  EXPECT_EQ(fit_cells(few_numbers(), given).fields[1].values.size(), 18U);
}

TEST(FitSchema, ExactValuesOnAsksForANumber) {
  Given given;
  given.columns["x"].exact_values = ExactValues::on;
  const Schema schema = fit_cells({"0", "1", "-0.0", "", "01"}, given);
  EXPECT_EQ(schema.columns[0].type, ColumnType::numeric);
  EXPECT_EQ(schema.fields[1].values, (std::vector<double>{0, 1}));
  given.table.max_categories = 4;
  EXPECT_TRUE(
      contains(error_of([&] { fit_cells({"1", "2", "3", "4", "5"}, given); }), {"column 'x' has 5 different numbers", "= 4"}));
  given.columns["x"].min_count = 9;
  testing::internal::CaptureStderr();
  EXPECT_EQ(fit_cells({"1", "2", "3", "4", "5"}, given).fields[1].name, "anchor");
  EXPECT_TRUE(contains(testing::internal::GetCapturedStderr(), {"column 'x' has no exact values though they are on"}));
}

TEST(FitSchema, FieldNamesStayDifferent) {
  TextTable table({"x", "x=", "x==", "y"});
  for (int i = 0; i < 200; ++i) {
    const std::string cell = std::to_string(i % 5), other = std::to_string(i % 7);
    table.add_row({cell, other, i % 3 == 0 ? "p" : "q", i % 2 == 0 ? "a" : "b"});
  }
  const Schema schema = fit(table);
  std::vector<std::string> names;
  for (const Field& field : schema.fields) names.push_back(field.name);
  EXPECT_EQ(names, (std::vector<std::string>{"x", "x===", "x=", "x====", "x=="}));
  EXPECT_EQ(Schema::from_json(schema.to_json()).fields.size(), 5U);
}

TEST(FitSchema, LooksAtTrainingRowsOnly) {
  TextTable table({"x", "y"});
  for (int i = 0; i < 20; ++i) table.add_row({std::to_string(i * i), i % 2 == 0 ? "a" : "b"});
  const std::string before = fit(table).to_json().dump();
  const std::vector<int64_t> training = all_rows(table);
  table.add_row({"not a number", ""});
  table.add_row({"inf", "c"});
  EXPECT_EQ(fit_schema(table, 1, training, {}, {}, {}).to_json().dump(), before);
}

TEST(FitSchema, DoesNotDependOnTheOrderOfRows) {
  RandomStream random(5);
  TextTable table({"n", "c", "m", "few", "tags", "y"});
  Given given;
  given.types["tags"] = "multi";
  for (int i = 0; i < 2000; ++i) {
    const std::string zero_or_more = random.uniform() < 0.6 ? (i % 2 == 0 ? "0" : "-0.0") : shortest(random.normal() * 1e6);
    const std::string few = std::to_string(random.below(30)), tags = std::to_string(random.below(9)) + "|" + few;
    table.add_row(
        {shortest(random.normal()), "c" + std::to_string(random.below(300)), zero_or_more, few, tags, i % 3 == 0 ? "a" : "b"});
  }
  const Schema schema = fit(table, given);
  EXPECT_EQ(schema.fields.size(), 7U);  // exact values of `m` (zero) and `few`
  const std::string wanted = schema.to_json().dump();
  for (int round = 0; round < 5; ++round) {
    EXPECT_EQ(fit_schema(table, 5, random.permutation(table.rows()), {}, {}, given.types).to_json().dump(), wanted);
  }
}

}  // namespace
}  // namespace l0gm
