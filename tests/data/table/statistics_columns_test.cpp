// Which columns, pairs and classes get statistics, and what their fields are called.
#include <gtest/gtest.h>

#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "data/table/statistics_tools.h"
#include "l0gm/error.h"

namespace l0gm {
namespace {

using namespace statistics_tools;

TEST(Statistics, NamesColumnsAndClassesOfFields) {
  const Table t = fitted(example(200, 2, 13), options_for(Statistics::pairs));
  std::vector<std::string> names;
  for (size_t f = 4; f < t.schema.fields.size(); ++f) names.push_back(t.schema.fields[f].name);
  EXPECT_EQ(names, (std::vector<std::string>{"a: odds", "a: rows", "b: odds", "b: rows", "c: odds", "c: rows", "a x b: odds",
                                             "a x b: rows", "a x c: odds", "a x c: rows", "b x c: odds", "b x c: rows"}));
  EXPECT_EQ(t.schema.fields[14].column, 2);  // b x c: that of b
  EXPECT_EQ(t.schema.fields[14].of_class, 1);
  EXPECT_EQ(t.schema.fields[15].of_class, -1);
}

TEST(Statistics, EqualNamesAreMadeDistinct) {
  Table t = example(200, 2, 14);
  t.schema.columns[3].name = "a x b";
  fit_statistics(t.schema, t.rows, options_for(Statistics::pairs));
  EXPECT_EQ(t.schema.fields[8].name, "a x b: odds");
  EXPECT_EQ(t.schema.fields[10].name, "a x b: odds'");
}

TEST(Statistics, TheFirstLookupOfAColumnIsItsKey) {
  Table t = example(200, 2, 15);
  t.schema.fields[1].kind = FieldKind::plain;  // column b has two lookups, column a none
  t.schema.fields[3].column = 2;
  fit_statistics(t.schema, t.rows, options_for(Statistics::pairs));
  ASSERT_EQ(t.schema.statistics.size(), 1U);
  EXPECT_EQ(t.schema.statistics[0].first, 2);
}

TEST(Statistics, ColumnThatMapsOneToOneIsLeftOut) {
  RandomStream random(16);
  const std::vector<int32_t> a = random_codes(random, 500, 10);
  std::vector<int32_t> renamed, coarser, nearly;
  for (const int32_t code : a) {
    renamed.push_back((code * 7 + 3) % 10);
    coarser.push_back(code / 2);
  }
  nearly = renamed;
  nearly.back() = (nearly.back() + 1) % 10;
  const Table t =
      fitted(make({a, renamed, coarser, nearly, renamed}, random_codes(random, 500, 2)), options_for(Statistics::columns));
  std::vector<int64_t> keys;
  for (const Statistic& statistic : t.schema.statistics) keys.push_back(statistic.first.field);
  EXPECT_EQ(keys, (std::vector<int64_t>{1, 3, 4}));
}

std::vector<std::pair<int64_t, int64_t>> pairs_of(const Schema& schema) {
  std::vector<std::pair<int64_t, int64_t>> pairs;
  for (const Statistic& statistic : schema.statistics) {
    if (statistic.of_pair()) pairs.emplace_back(statistic.first.field, statistic.second.field);
  }
  return pairs;
}

TEST(Statistics, TheMostInformativeColumnsArePairedFirst) {
  constexpr size_t rows = 2000;
  RandomStream random(17);
  const std::vector<int32_t> labels = random_codes(random, rows, 2);
  std::vector<int32_t> strong, weak, identifiers(rows);
  for (const int32_t label : labels) {
    strong.push_back(random.uniform() < 0.6 ? label : static_cast<int32_t>(random.below(4)));
    weak.push_back(random.uniform() < 0.2 ? label : static_cast<int32_t>(random.below(4)));
  }
  std::iota(identifiers.begin(), identifiers.end(), 0);  // determines the label in these rows, uninformative for others
  const Table t = make({random_codes(random, rows, 300), weak, identifiers, strong}, labels);
  using Pairs = std::vector<std::pair<int64_t, int64_t>>;
  EXPECT_EQ(pairs_of(fitted(t, options_for(Statistics::pairs, 1)).schema), (Pairs{{2, 4}}));
  EXPECT_EQ(pairs_of(fitted(t, options_for(Statistics::pairs, 2)).schema), (Pairs{{2, 4}}));
  EXPECT_EQ(pairs_of(fitted(t, options_for(Statistics::pairs, 3)).schema), (Pairs{{2, 3}, {2, 4}, {3, 4}}));
  EXPECT_EQ(pairs_of(fitted(t, options_for(Statistics::pairs, 6)).schema),
            (Pairs{{1, 2}, {1, 3}, {1, 4}, {2, 3}, {2, 4}, {3, 4}}));
  EXPECT_EQ(pairs_of(fitted(t, options_for(Statistics::columns, 6)).schema), Pairs{});
  EXPECT_EQ(fitted(t, options_for(Statistics::pairs, 1)).schema.statistics.size(), 5U);
}

TEST(Statistics, NoneChangesNothing) {
  const Table plain = example(50, 2, 19), t = fitted(plain, options_for(Statistics::none));
  EXPECT_EQ(t.schema.fields.size(), plain.schema.fields.size());
  EXPECT_TRUE(t.schema.statistics.empty());
  EXPECT_EQ(t.rows.slopes, plain.rows.slopes);
}

TEST(Statistics, WithoutKeysAWarningAndNothingElse) {
  Table t = make({}, {0, 1, 1});
  testing::internal::CaptureStderr();
  fit_statistics(t.schema, t.rows, options_for(Statistics::pairs));
  EXPECT_NE(testing::internal::GetCapturedStderr().find("no column has categories"), std::string::npos);
  EXPECT_EQ(t.schema.fields.size(), 1U);
  EXPECT_EQ(t.rows.slope_slots, 2);
}

TEST(Statistics, OnlyFrequentClassesGetLogOddsWhenThereAreMany) {
  Table t = example(2000, 25, 20);
  for (size_t row = 0; row < 2000; ++row) {
    if (t.rows.labels[row] % 5 == 2 && row % 10 != 0) t.rows.labels[row] = 0;  // classes 2, 7, 12, 17, 22 become rare
  }
  testing::internal::CaptureStderr();
  fit_statistics(t.schema, t.rows, options_for(Statistics::columns));
  const std::string log = testing::internal::GetCapturedStderr();
  const size_t found = log.find("25 classes only the 20 most frequent");
  ASSERT_NE(found, std::string::npos);
  EXPECT_EQ(log.find("most frequent", found + 40), std::string::npos);  // once
  ASSERT_EQ(t.schema.fields.size(), 4U + 3 * 21);
  std::vector<int64_t> classes;
  for (size_t f = 4; f < 25; ++f) classes.push_back(t.schema.fields[f].of_class);
  EXPECT_EQ(classes, (std::vector<int64_t>{0, 1, 3, 4, 5, 6, 8, 9, 10, 11, 13, 14, 15, 16, 18, 19, 20, 21, 23, 24, -1}));
  EXPECT_EQ(t.schema.statistics[0].class_counts.size(), 25 * t.schema.statistics[0].keys.size());
}

TEST(Statistics, TooManyCountsAreRefused) {
  std::vector<int32_t> all_different(10001);
  std::iota(all_different.begin(), all_different.end(), 0);
  Table t = make({all_different}, all_different, 10001);
  EXPECT_THROW(fit_statistics(t.schema, t.rows, options_for(Statistics::columns)), UserError);
}

TEST(Statistics, ManyColumns) {
  RandomStream random(21);
  std::vector<std::vector<int32_t>> columns;
  for (int c = 0; c < 1000; ++c) columns.push_back(c == 999 ? columns[500] : random_codes(random, 300, 20));
  const Table t = fitted(make(columns, random_codes(random, 300, 2)), options_for(Statistics::columns));
  EXPECT_EQ(t.schema.statistics.size(), 999U);
  EXPECT_EQ(t.rows.slope_slots, 1002 + 2 * 999);
}

}  // namespace
}  // namespace l0gm
