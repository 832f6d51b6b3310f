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
};

Schema fit(const TextTable& table, const Given& given = {}) {
  return fit_schema(table, table.column("y"), all_rows(table), given.table, given.columns, given.types);
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
  EXPECT_TRUE(contains(error_of([&] { fit_cells({"0", "1", "2"}, given); }),
                       {"type 'text' is not known; use categorical, numeric, multi or ignore"}));
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

TEST(FitSchema, TooManyCategoriesAreHashed) {
  Given given;
  given.table.max_categories = 4;
  const std::vector<std::string> cells = {"b", "a", "c", "d", "d", "e"};
  testing::internal::CaptureStderr();
  const Schema schema = fit_cells(cells, given);
  EXPECT_TRUE(contains(testing::internal::GetCapturedStderr(),
                       {"column 'x' has 5 categories", "max_categories = 4", "hashed into 4 rows"}));
  EXPECT_EQ(schema.fields[0].kind, FieldKind::hashed);
  EXPECT_EQ(schema.fields[0].buckets, 4);
  EXPECT_EQ(schema.columns[0].type, ColumnType::categorical);
  given.columns["x"].min_count = 2;
  EXPECT_EQ(fit_cells(cells, given).fields[0].vocabulary, (std::vector<std::string>{"d"}));
}

TEST(FitSchema, HashingCanBeAskedFor) {
  std::vector<std::string> identifiers;
  for (int i = 0; i < 30; ++i) identifiers.push_back(std::to_string(i));
  Given given;
  given.columns["x"].hash_buckets = 7;
  const Schema schema = fit_cells(identifiers, given);  // numbers, all different: kept, as texts
  EXPECT_EQ(schema.columns[0].type, ColumnType::categorical);
  ASSERT_EQ(schema.fields.size(), 3U);
  EXPECT_EQ(schema.fields[0].name, "x");
  EXPECT_EQ(schema.fields[0].kind, FieldKind::hashed);
  EXPECT_EQ(schema.fields[0].rows(), 8);
  EXPECT_TRUE(schema.fields[0].vocabulary.empty());
  given.types["x"] = "numeric";
  EXPECT_TRUE(contains(error_of([&] { fit_cells(identifiers, given); }), {"columns.x.hash_buckets is for categorical columns"}));
  given.types["x"] = "multi";
  EXPECT_TRUE(contains(error_of([&] { fit_cells(identifiers, given); }), {"columns.x.hash_buckets is for categorical columns"}));
  given.types.clear();
  given.columns["x"].bins = 3;
  EXPECT_TRUE(contains(error_of([&] { fit_cells(identifiers, given); }), {"are for numeric columns, this one is categorical"}));
  given.columns["x"].bins = 0;
  given.columns["x"].min_count = 3;
  EXPECT_TRUE(contains(error_of([&] { fit_cells(identifiers, given); }), {"this one is hashed"}));
}

TEST(FitSchema, FiftyThousandCategories) {
  std::vector<std::string> cells;
  for (int i = 0; i < 100000; ++i) cells.push_back("c" + std::to_string(i % 50000));
  Given given;
  given.table.min_count = 1;
  EXPECT_EQ(fit_cells(cells, given).fields[0].rows(), 50002);
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
  for (int i = 0; i < 20; ++i) EXPECT_EQ(schema.fields[1].values[static_cast<size_t>(i)], 19 - i);  // by falling count
  EXPECT_EQ(schema.fields[2].name, "anchor");
}

TEST(FitSchema, ExactValuesCanBeTurnedOff) {
  Given given;
  given.table.exact_values = ExactValues::off;
  EXPECT_EQ(fit_cells(few_numbers(), given).fields.size(), 2U);
  given.columns["x"].min_count = 12;
  EXPECT_TRUE(contains(error_of([&] { fit_cells(few_numbers(), given); }), {"columns.x.min_count", "exact values are off"}));
  given.columns["x"].exact_values = ExactValues::automatic;  // the column's own word counts
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

TEST(FitSchema, SeveralValuesInACell) {
  const std::vector<std::string> cells = {"b|a", "c| a |a", "", "|?|", "a", "b"};
  Given given;
  given.types["x"] = "multi";
  const Schema schema = fit_cells(cells, given);
  EXPECT_EQ(schema.columns[0].type, ColumnType::multi);
  EXPECT_EQ(schema.columns[0].missing, 2);
  EXPECT_EQ(schema.fields[0].kind, FieldKind::multi);
  EXPECT_EQ(schema.fields[0].vocabulary, (std::vector<std::string>{"a", "b", "c"}));  // in 3, 2 and 1 cells
  EXPECT_EQ(schema.fields[0].slots, 2);
  EXPECT_EQ(schema.fields[0].separator, '|');
  EXPECT_EQ(schema.code_slots(), 3);
  given.table.max_categories = 1;
  testing::internal::CaptureStderr();
  EXPECT_EQ(fit_cells(cells, given).fields[0].vocabulary, (std::vector<std::string>{"a"}));
  EXPECT_TRUE(contains(testing::internal::GetCapturedStderr(), {"column 'x' has 3 different values", "share one rare value"}));
  given = {};
  given.columns["x"].separator = ";";  // says multi
  given.columns["x"].min_count = 2;
  const Schema other = fit_cells({"a;b", "b|c;a", "b", "b"}, given);
  EXPECT_EQ(other.columns[0].type, ColumnType::multi);
  EXPECT_EQ(other.fields[0].vocabulary, (std::vector<std::string>{"b", "a"}));
  EXPECT_EQ(other.fields[0].separator, ';');
}

TEST(FitSchema, SeparatorsAreChecked) {
  Given given;
  for (const char* separator : {"||", "\"", "\n", "\xC3\xA4"}) {
    given.columns["x"].separator = separator;
    EXPECT_TRUE(contains(error_of([&] { fit_cells({"a", "b"}, given); }), {"columns.x.separator", "one ASCII character"}));
  }
  given.columns["x"].separator = ";";
  given.columns["x"].type = "categorical";
  EXPECT_TRUE(contains(error_of([&] { fit_cells({"a", "b"}, given); }), {"columns.x.separator is for multi columns"}));
}

TEST(FitSchema, MultiColumnsThatSayNothingAreLeftOut) {
  Given given;
  given.types["x"] = "multi";
  testing::internal::CaptureStderr();
  EXPECT_EQ(fit_cells({"a|b", "b|a", "a|b"}, given).columns[0].name, "anchor");
  EXPECT_EQ(fit_cells({"|", "", "NA|?"}, given).columns[0].name, "anchor");
  EXPECT_TRUE(contains(testing::internal::GetCapturedStderr(), {"it has one value", "all its training values are missing"}));
  EXPECT_EQ(fit_cells({"a|b", "|", "a|b"}, given).columns[0].name, "x");
}

TEST(FitSchema, SlotsAreLimited) {
  std::string cell = "v0";
  for (int i = 1; i < 100; ++i) cell += "|v" + std::to_string(i);
  Given given;
  given.types["x"] = "multi";
  testing::internal::CaptureStderr();
  const Schema schema = fit_cells({cell, "v1", "v2"}, given);
  EXPECT_TRUE(contains(testing::internal::GetCapturedStderr(), {"up to 100 values in a cell", "the first 64 are read"}));
  EXPECT_EQ(schema.fields[0].slots, 64);
  EXPECT_EQ(schema.fields[0].vocabulary.size(), 100U);
}

TEST(FitSchema, UnbalancedClasses) {
  TextTable table({"x", "y"});
  for (int i = 0; i <= 10000; ++i) table.add_row({std::to_string(i % 17), i == 4321 ? " rare" : "common "});
  const Schema schema = fit(table);
  EXPECT_EQ(schema.classes, (std::vector<std::string>{"common", "rare"}));
  EXPECT_EQ(schema.class_rows, (std::vector<int64_t>{10000, 1}));
  EXPECT_EQ(fit_schema(table, 1, {4321, 0, 5}, {}, {}, {}).class_rows, (std::vector<int64_t>{2, 1}));
  EXPECT_EQ(Schema::from_json(schema.to_json()).class_rows, schema.class_rows);
}

TEST(FitSchema, LabelsAreChecked) {
  TextTable table({"x", "y"});
  for (const char* label : {"10", "9", "10", " 9"}) table.add_row({std::to_string(table.rows()), label});
  EXPECT_EQ(fit(table).classes, (std::vector<std::string>{"9", "10"}));
  table.add_row({"5", "b"});
  EXPECT_EQ(fit(table).classes, (std::vector<std::string>{"10", "9", "b"}));
  const Schema schema = fit_schema(table, 1, {0, 1, 2, 3}, {}, {}, {});
  const auto check = [&](const std::vector<int64_t>& rows) {
    check_labels(table, 1, schema.classes, schema.missing_marks, rows, "test");
  };
  check({0, 3});
  EXPECT_TRUE(contains(error_of([&] { check({0, 4}); }), {"data row 5 (test)", "label 'y' is 'b'", "9, 10"}));
  EXPECT_TRUE(contains(error_of([&] { fit_schema(table, 1, {0, 2}, {}, {}, {}); }), {"single class", "'10'"}));
  EXPECT_TRUE(contains(error_of([&] { fit_schema(table, 1, {}, {}, {}, {}); }), {"no training rows"}));
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

TEST(Fit, RareTextsShareACodeByTheNumberOfRows) {
  for (const int64_t rows : {500, 6000, 30000}) {
    TextTable table({"word", "age", "y"});
    for (int64_t i = 0; i < rows; ++i) {
      // "seldom" three times, "often" eleven times, the others all the time; the number 77 three times.
      const std::string word = i < 3        ? "seldom"
                               : i < 14     ? "often"
                               : i % 2 == 0 ? "a"
                                            : "b",
                        age = i < 3 ? "77" : std::to_string(20 + i % 5);
      table.add_row({word, age, i % 3 == 0 ? "yes" : "no"});
    }
    std::vector<int64_t> all(static_cast<size_t>(rows));
    std::iota(all.begin(), all.end(), int64_t{0});
    const Schema schema = fit_schema(table, 2, all, {}, {}, {});
    const std::vector<std::string>& words = schema.fields[0].vocabulary;
    EXPECT_EQ(std::count(words.begin(), words.end(), "seldom"), rows == 500 ? 1 : 0) << rows << " rows";
    EXPECT_EQ(std::count(words.begin(), words.end(), "often"), 1) << rows;
    ASSERT_EQ(schema.fields[2].kind, FieldKind::exact);
    EXPECT_EQ(std::count(schema.fields[2].values.begin(), schema.fields[2].values.end(), 77.0), 1)
        << "single numbers are never rare by default";
    TableOptions keep;
    keep.min_count = 1;
    const std::vector<std::string> kept = fit_schema(table, 2, all, keep, {}, {}).fields[0].vocabulary;
    EXPECT_EQ(std::count(kept.begin(), kept.end(), "seldom"), 1);
  }
}

}  // namespace
}  // namespace l0gm
