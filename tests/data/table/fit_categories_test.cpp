#include "data/table/fit_categories.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "data/table/fit_tools.h"

namespace l0gm {
namespace {

using namespace fit_tools;

TEST(FitSchema, VocabularyIsByDescendingCountThenText) {
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
  given.columns["x"].separator = ";";  // implies multi
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

TEST(FitSchema, UninformativeMultiColumnsAreLeftOut) {
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

}  // namespace
}  // namespace l0gm
