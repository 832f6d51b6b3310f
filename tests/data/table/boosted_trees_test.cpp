#include "data/table/boosted_trees.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "base/random.h"
#include "base/threads.h"

namespace l0gm {
namespace {

// Four numeric inputs of eight ranges and one of six categories. Two classes: whether input 0 and input 1 are on the same side.
// Three: by input 2, and class 2 for one category.
TreeRows make_rows(int64_t rows, int64_t classes, uint64_t seed = 1) {
  RandomStream random(seed);
  TreeRows made;
  made.classes = classes;
  made.codes.resize(5);
  made.sizes = {8, 8, 8, 8, 7};
  made.is_category = {false, false, false, false, true};
  for (int64_t row = 0; row < rows; ++row) {
    for (size_t i = 0; i < 5; ++i) made.codes[i].push_back(static_cast<uint8_t>(random.below(i == 4 ? 6 : 8)));
    const auto r = static_cast<size_t>(row);
    const bool same = (made.codes[0][r] > 3) == (made.codes[1][r] > 3);
    made.labels.push_back(classes == 2 ? (same ? 1 : 0) : made.codes[4][r] == 2 ? 2 : made.codes[2][r] > 4 ? 1 : 0);
  }
  return made;
}

std::vector<uint32_t> range(uint32_t begin, uint32_t end) {
  std::vector<uint32_t> rows(end - begin);
  std::iota(rows.begin(), rows.end(), begin);
  return rows;
}

TEST(BoostedTrees, LearnWhatOnlyTwoInputsTogetherTell) {
  const TreeRows rows = make_rows(3000, 2);
  Boosting boosting(rows, range(0, 2000), {}, 0);
  const double before = boosting.loss(range(2000, 3000));
  EXPECT_NEAR(before, std::log(2.0), 0.01);
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(boosting.add_tree());
  EXPECT_LT(boosting.loss(range(2000, 3000)), 0.1 * before);
}

TEST(BoostedTrees, LearnClassesAndCategories) {
  const TreeRows rows = make_rows(3000, 3);
  Boosting boosting(rows, range(0, 2000), {}, 0);
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(boosting.add_tree());
  EXPECT_LT(boosting.loss(range(2000, 3000)), 0.1);
}

TEST(BoostedTrees, LabelsOfOtherRowsDoNotMatter) {
  TreeRows rows = make_rows(1000, 2);
  Boosting one(rows, range(0, 700), {}, 0);
  for (int i = 0; i < 20; ++i) one.add_tree();
  for (size_t row = 700; row < 1000; ++row) rows.labels[row] = 1 - rows.labels[row];
  Boosting other(rows, range(0, 700), {}, 0);
  for (int i = 0; i < 20; ++i) other.add_tree();
  EXPECT_EQ(one.splits(), other.splits());
  EXPECT_EQ(one.leaves(), other.leaves());
}

TEST(BoostedTrees, ThreadsDoNotMatter) {
  const TreeRows rows = make_rows(200'000, 2);  // so many that threads are used
  std::vector<std::vector<float>> leaves;
  for (const int64_t threads : {1, 3}) {
    set_thread_limit(threads);
    Boosting boosting(rows, range(0, 200'000), {}, 0);
    for (int i = 0; i < 3; ++i) boosting.add_tree();
    leaves.push_back(boosting.leaves());
  }
  set_thread_limit(0);
  EXPECT_EQ(leaves[0], leaves[1]);
}

TEST(BoostedTrees, WeightsCountAsCopiesDo) {
  TreeRows weighted = make_rows(400, 2);
  TreeRows copied = weighted;
  weighted.weights.assign(400, 1.0F);
  for (size_t row = 0; row < 100; ++row) {
    weighted.weights[row] = 2;
    for (auto& codes : copied.codes) codes.push_back(codes[row]);
    copied.labels.push_back(copied.labels[row]);
  }
  BoostSettings all;
  all.rows_share = 1;
  Boosting first(weighted, range(0, 400), all, 0), second(copied, range(0, 500), all, 0);
  first.add_tree();
  second.add_tree();
  ASSERT_EQ(first.splits(), second.splits());
  for (size_t i = 0; i < first.leaves().size(); ++i) EXPECT_NEAR(first.leaves()[i], second.leaves()[i], 0.02) << i;
}

TEST(BoostedTrees, NothingToSplit) {
  TreeRows rows;
  rows.codes = {std::vector<uint8_t>(50, 1)};
  rows.sizes = {2};
  rows.is_category = {false};
  for (int i = 0; i < 50; ++i) rows.labels.push_back(i % 2);
  Boosting boosting(rows, range(0, 50), {}, 0);
  EXPECT_FALSE(boosting.add_tree());
}

}  // namespace
}  // namespace l0gm
