#include "data/table/statistic_groups.h"

#include <gtest/gtest.h>

#include <map>

#include "base/random.h"

namespace l0gm {
namespace {

// `codes` of them can be: few are counted in a table, many found by their hash.
void check_groups(int64_t codes) {
  RandomStream random(6);
  KeyColumn first{codes, {}}, second{4, {}};
  std::map<int64_t, std::vector<uint32_t>> expected;
  for (uint32_t row = 0; row < 500; ++row) {
    first.codes.push_back(static_cast<int32_t>(random.below(5)) * static_cast<int32_t>(codes / 5));
    second.codes.push_back(static_cast<int32_t>(random.below(4)));
    expected[first.codes.back() * int64_t{4} + second.codes.back()].push_back(row);
  }
  const Groups groups = group_rows(first, &second);
  ASSERT_EQ(groups.keys.size(), expected.size());
  size_t k = 0;
  for (const auto& [value, rows] : expected) {
    EXPECT_EQ(groups.keys[k], value);
    EXPECT_EQ(std::vector<uint32_t>(groups.rows.begin() + groups.starts[k], groups.rows.begin() + groups.starts[k + 1]), rows);
    ++k;
  }
}

TEST(GroupRows, KeysAscendWithTheirRows) {
  check_groups(5);
  check_groups(100'000'000);
}

TEST(FoldedLabels, CountsWhatIsOutsideEachFold) {
  EncodedTable rows;
  for (int64_t row = 0; row < 200; ++row) {
    rows.row_numbers.push_back(row);
    rows.labels.push_back(static_cast<int32_t>(row % 3));
  }
  const FoldedLabels labels(rows, 3);
  ASSERT_EQ(labels.outside.size(), 10U);
  for (size_t fold = 0; fold < 10; ++fold) {
    std::vector<double> expected(3, 0);
    for (size_t row = 0; row < 200; ++row) {
      if (labels.cells[row] / 3 != fold) ++expected[static_cast<size_t>(rows.labels[row])];
    }
    EXPECT_EQ(labels.outside[fold].of_class, expected);
    EXPECT_EQ(labels.outside[fold].all, expected[0] + expected[1] + expected[2]);
  }
}

TEST(StatisticFold, FoldsAreAboutEqual) {
  std::vector<int> counts(10, 0);
  for (int64_t row = 0; row < 10000; ++row) ++counts[static_cast<size_t>(statistic_fold(row))];
  for (const int count : counts) EXPECT_NEAR(count, 1000, 150);  // five standard deviations of 30
}

}  // namespace
}  // namespace l0gm
