#include "data/splits.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>

#include "l0gm/error.h"

namespace l0gm {
namespace {

std::vector<int32_t> labels_of(const std::map<int32_t, int>& counts) {
  std::vector<int32_t> labels;
  for (const auto& [label, count] : counts) labels.insert(labels.end(), static_cast<size_t>(count), label);
  return labels;
}

int64_t count_label(const std::vector<int64_t>& rows, const std::vector<int32_t>& labels, int32_t label) {
  return std::count_if(rows.begin(), rows.end(), [&](int64_t row) { return labels[static_cast<size_t>(row)] == label; });
}

TEST(Stratified, PartsCoverAllRowsOnceInOrder) {
  const auto labels = labels_of({{0, 761}, {1, 239}});
  const auto parts = stratified(labels, std::vector<double>{0.1, 0.2}, 7);
  ASSERT_EQ(parts.size(), 3U);
  std::vector<int64_t> all;
  for (const auto& part : parts) {
    EXPECT_TRUE(std::is_sorted(part.begin(), part.end()));
    all.insert(all.end(), part.begin(), part.end());
  }
  std::sort(all.begin(), all.end());
  ASSERT_EQ(all.size(), 1000U);
  for (int64_t i = 0; i < 1000; ++i) EXPECT_EQ(all[static_cast<size_t>(i)], i);
}

TEST(Stratified, SharesHoldPerClassAndInTotal) {
  const auto labels = labels_of({{0, 761}, {1, 239}});
  const auto parts = stratified(labels, std::vector<double>{0.1, 0.2}, 7);
  EXPECT_EQ(parts[1].size(), 100U);
  EXPECT_EQ(parts[2].size(), 200U);
  EXPECT_NEAR(static_cast<double>(count_label(parts[1], labels, 1)), 23.9, 1);
  EXPECT_NEAR(static_cast<double>(count_label(parts[2], labels, 0)), 152.2, 1);
  // Forty classes of five rows: rounding each class by itself would give every one of them 1 (or 0) of the 0.1.
  const auto many = [] {
    std::map<int32_t, int> counts;
    for (int32_t label = 0; label < 40; ++label) counts[label] = 5;
    return labels_of(counts);
  }();
  EXPECT_EQ(stratified(many, std::vector<double>{0.1}, 0)[1].size(), 20U);
}

TEST(Stratified, GivesExactlyTheWantedNumberOfRows) {
  const auto labels = labels_of({{0, 37155}, {1, 11687}});
  const auto parts = stratified(labels, std::vector<double>{3908.0 / 48842, 9769.0 / 48842}, 0);
  EXPECT_EQ(parts[0].size(), 35165U);
  EXPECT_EQ(parts[1].size(), 3908U);
  EXPECT_EQ(parts[2].size(), 9769U);
}

TEST(Stratified, DependsOnTheSeedAndOnNothingElse) {
  const auto labels = labels_of({{0, 300}, {1, 100}});
  const std::vector<double> shares = {0.1, 0.2};
  EXPECT_EQ(stratified(labels, shares, 3), stratified(labels, shares, 3));
  EXPECT_NE(stratified(labels, shares, 3), stratified(labels, shares, 4));
}

TEST(Stratified, EveryClassKeepsARowInTraining) {
  const auto labels = labels_of({{0, 1}, {1, 2}, {2, 1}, {3, 40}});
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const auto parts = stratified(labels, std::vector<double>{0.45, 0.45}, seed);
    for (int32_t label = 0; label < 4; ++label) EXPECT_GE(count_label(parts[0], labels, label), 1) << seed;
    EXPECT_EQ(count_label(parts[0], labels, 0), 1);
    EXPECT_EQ(count_label(parts[0], labels, 2), 1);
  }
}

TEST(Stratified, ImpossibleSharesAreRefused) {
  const auto labels = labels_of({{0, 10}, {1, 10}});
  EXPECT_THROW(stratified(labels, std::vector<double>{0.5, 0.5}, 0), UserError);
  EXPECT_THROW(stratified(labels, std::vector<double>{-0.1}, 0), UserError);
  EXPECT_THROW(stratified(labels, std::vector<double>{0.001}, 0), UserError);
  EXPECT_TRUE(stratified(labels, std::vector<double>{0.0}, 0)[1].empty());
  EXPECT_THROW(stratified(std::vector<int32_t>{}, std::vector<double>{0.1}, 0), UserError);
}

TEST(Stratified, RowsOfATable) {
  TextTable table({"x", "y"});
  for (int i = 0; i < 100; ++i) table.add_row({"1", i % 4 == 0 ? "yes" : " no"});
  std::vector<int64_t> rows;
  for (int64_t i = 50; i < 100; ++i) rows.push_back(i);
  const auto parts = stratified_rows(table, 1, rows, std::vector<double>{0.2}, 1);
  EXPECT_EQ(parts[0].size(), 40U);
  EXPECT_EQ(parts[1].size(), 10U);
  for (const auto& part : parts) {
    for (const int64_t row : part) EXPECT_TRUE(row >= 50 && row < 100);
  }
}

TEST(SplitByColumn, KnowsTheUsualNames) {
  TextTable table({"s"});
  for (const char* name : {"train", "Test", "val", "dev", " validation ", "VALID", "training"}) table.add_row({name});
  const SplitRows split = split_by_column(table, 0);
  EXPECT_EQ(split.train, (std::vector<int64_t>{0, 6}));
  EXPECT_EQ(split.valid, (std::vector<int64_t>{2, 3, 4, 5}));
  EXPECT_EQ(split.test, (std::vector<int64_t>{1}));
}

TEST(SplitNamed, UsualNamesAndNothingElse) {
  EXPECT_EQ(split_named(" Training "), Split::train);
  EXPECT_EQ(split_named("DEV"), Split::valid);
  EXPECT_EQ(split_named("test"), Split::test);
  EXPECT_EQ(split_named("tests"), std::nullopt);
  EXPECT_EQ(split_named(""), std::nullopt);
}

TEST(SplitByColumn, OtherNamesAreRefusedWithTheirRow) {
  TextTable table({"part"});
  table.add_row({"train"});
  table.add_row({"holdout"});
  try {
    split_by_column(table, 0);
    FAIL();
  } catch (const UserError& error) {
    EXPECT_STREQ(error.what(), "data row 2: split column 'part' says 'holdout', wanted train, valid or test");
  }
  TextTable without_training({"part"});
  without_training.add_row({"test"});
  EXPECT_THROW(split_by_column(without_training, 0), UserError);
}

SplitOptions folds_of(int64_t folds, int64_t fold, int64_t seed = 0) {
  SplitOptions options;
  options.folds = folds;
  options.fold = fold;
  options.fold_seed = seed;
  return options;
}

// Row numbers that are not positions, with classes of 40, 9 and a single row.
struct Pool {
  std::vector<int64_t> rows;
  std::vector<int32_t> labels = labels_of({{0, 40}, {1, 9}, {2, 1}});
  Pool() {
    for (size_t i = 0; i < labels.size(); ++i) rows.push_back(static_cast<int64_t>(1000 + 3 * i));
  }
  int32_t label(int64_t row) const { return labels[static_cast<size_t>((row - 1000) / 3)]; }
};

TEST(Folds, HoldOutEachRowOnceAndShareNone) {
  const Pool pool;
  std::map<int64_t, int> times;
  for (int64_t fold = 0; fold < 5; ++fold) {
    const SplitRows split = fold_rows(pool.rows, pool.labels, folds_of(5, fold));
    EXPECT_EQ(split.train.size() + split.valid.size() + split.test.size(), pool.rows.size());
    std::vector<int64_t> all = split.train;
    all.insert(all.end(), split.valid.begin(), split.valid.end());
    all.insert(all.end(), split.test.begin(), split.test.end());
    std::sort(all.begin(), all.end());
    EXPECT_EQ(all, pool.rows);
    EXPECT_FALSE(split.valid.empty());
    for (const int64_t row : split.test) ++times[row];
    // 49 rows can be held out: folds of 9 or 10, with 8 of class 0 and 1 or 2 of class 1.
    EXPECT_NEAR(static_cast<double>(split.test.size()), 9.8, 1);
    EXPECT_EQ(std::count_if(split.test.begin(), split.test.end(), [&](int64_t row) { return pool.label(row) == 0; }), 8);
    for (int32_t label = 0; label < 3; ++label) {
      EXPECT_GT(std::count_if(split.train.begin(), split.train.end(), [&](int64_t row) { return pool.label(row) == label; }), 0)
          << label;
    }
  }
  EXPECT_EQ(times.size(), 49U);  // all but the only row of class 2
  for (const auto& [row, count] : times) EXPECT_EQ(count, 1) << row;
}

TEST(Folds, SeedDealsAnew) {
  const Pool pool;
  const auto test = [&](int64_t seed) { return fold_rows(pool.rows, pool.labels, folds_of(5, 2, seed)).test; };
  EXPECT_EQ(test(1), test(1));
  EXPECT_NE(test(1), test(2));
}

TEST(Folds, TakeTheTestRowsAway) {
  const Pool pool;
  std::vector<int64_t> train(pool.rows.begin(), pool.rows.begin() + 40), valid(pool.rows.begin() + 40, pool.rows.end()),
      test = {7, 8};
  const auto labels = [&](const std::vector<int64_t>& rows) {
    std::vector<int32_t> out;
    for (const int64_t row : rows) out.push_back(pool.label(row));
    return out;
  };
  const std::vector<int64_t> before = train;
  apply_folds({}, train, valid, test, labels);
  EXPECT_EQ(train, before);
  EXPECT_EQ(test, (std::vector<int64_t>{7, 8}));
  apply_folds(folds_of(3, 1), train, valid, test, labels);
  EXPECT_EQ(test, fold_rows(pool.rows, pool.labels, folds_of(3, 1)).test);
  EXPECT_EQ(std::count(test.begin(), test.end(), 7), 0);
  EXPECT_EQ(fold_suffix(folds_of(3, 1)), " (fold 1 of 3)");
  EXPECT_EQ(fold_suffix({}), "");
}

TEST(Folds, AreRefusedWhereThereAreNone) {
  const Pool pool;
  EXPECT_THROW(fold_rows(pool.rows, pool.labels, folds_of(5, 5)), UserError);
  EXPECT_THROW(fold_rows(pool.rows, pool.labels, folds_of(1, 0)), UserError);
  EXPECT_THROW(fold_rows(pool.rows, pool.labels, folds_of(100, 99)), UserError);
}

}  // namespace
}  // namespace l0gm
