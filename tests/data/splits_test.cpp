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

}  // namespace
}  // namespace l0gm
