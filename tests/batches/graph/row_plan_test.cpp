#include "batches/graph/row_plan.h"

#include <gtest/gtest.h>

#include <numeric>

namespace l0gm {
namespace {

std::vector<int64_t> offsets_of(const std::vector<int64_t>& lengths) {
  std::vector<int64_t> offsets(lengths.size() + 1, 0);
  std::partial_sum(lengths.begin(), lengths.end(), offsets.begin() + 1);
  return offsets;
}

TEST(RowPlan, EveryRowOnceLongOnesFirstThenByFallingLength) {
  std::vector<int64_t> lengths;
  for (int64_t i = 0; i < 500; ++i) lengths.push_back(i % 7 == 0 ? 0 : i * 37 % 151);
  const RowPlan plan = plan_rows(offsets_of(lengths).data(), 500, 100);
  std::vector<int32_t> sorted = plan.rows, all(500);
  std::sort(sorted.begin(), sorted.end());
  std::iota(all.begin(), all.end(), 0);
  EXPECT_EQ(sorted, all);
  const auto length = [&](int64_t place) { return lengths[static_cast<size_t>(plan.rows[static_cast<size_t>(place)])]; };
  ASSERT_GT(plan.cut_rows(), 0);
  for (int64_t place = 0; place < 500; ++place) {
    EXPECT_EQ(length(place) > 100, place < plan.cut_rows());
    if (place > plan.cut_rows()) {
      EXPECT_LE(length(place), length(place - 1) * 3 / 2 + 1) << "no row is much longer than one before it";
    }
  }
  EXPECT_EQ(length(499), 0);
}

TEST(RowPlan, RowsOfOneLengthKeepTheirOrder) {
  const RowPlan plan = plan_rows(offsets_of({5, 3, 5, 5, 3}).data(), 5, 100);
  EXPECT_EQ(plan.rows, (std::vector<int32_t>{0, 2, 3, 1, 4}));
  EXPECT_EQ(plan.cut_rows(), 0);
  EXPECT_EQ(plan.segments(), 0);
  EXPECT_EQ(plan.first_segment, std::vector<int32_t>{0});
}

TEST(RowPlan, SegmentsCoverTheRowsThatAreCut) {
  const RowPlan plan = plan_rows(offsets_of({4, 13, 12, 25, 0, 12}).data(), 6, 12);
  EXPECT_EQ(plan.longest, 12);
  ASSERT_EQ(plan.cut_rows(), 2);
  EXPECT_EQ(plan.rows[0], 1);
  EXPECT_EQ(plan.rows[1], 3);
  EXPECT_EQ(plan.first_segment, (std::vector<int32_t>{0, 2, 5}));  // 13 edges are two segments, 25 are three
  EXPECT_EQ(plan.row_of_segment, (std::vector<int32_t>{0, 0, 1, 1, 1}));
}

TEST(RowPlan, NoRows) {
  const std::vector<int64_t> offsets = {0};
  const RowPlan plan = plan_rows(offsets.data(), 0, 128);
  EXPECT_TRUE(plan.rows.empty());
  EXPECT_EQ(plan.cut_rows(), 0);
}

}  // namespace
}  // namespace l0gm
