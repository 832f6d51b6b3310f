#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

namespace l0gm {

// In which order the rows of a sparse matrix are summed on a GPU. Rows with more edges than `longest` are cut into segments of so
// many; their sums are added in order, so that results are the same in every run. Other rows follow by falling length, so that
// groups of threads that run side by side have the same number of edges to read; rows of similar length keep their order, because
// neighbouring rows often read the same nodes. A plan holds for every matrix whose rows are no longer than those it was made of.
struct RowPlan {
  int64_t longest = 0;                  // edges of a segment
  std::vector<int32_t> rows;            // all rows, those that are cut first
  std::vector<int32_t> first_segment;   // of each row that is cut, and the number of segments
  std::vector<int32_t> row_of_segment;  // the place in `rows`

  int64_t cut_rows() const { return static_cast<int64_t>(first_segment.size()) - 1; }
  int64_t segments() const { return static_cast<int64_t>(row_of_segment.size()); }
};

// Few segments where a matrix has work enough for all of a device without them.
inline int64_t segment_length(int64_t edges) { return edges < (int64_t{1} << 20) ? 128 : 256; }

inline RowPlan plan_rows(const int64_t* offsets, int64_t rows, int64_t longest) {
  RowPlan plan;
  plan.longest = longest;
  plan.rows.resize(static_cast<size_t>(rows));
  const auto edges = [&](int64_t row) { return offsets[row + 1] - offsets[row]; };
  // Lengths are alike when they agree in their two highest bits; rows that are cut come first, longest or not: their segments are
  // of one length.
  const auto bucket = [&](int64_t row) {
    const auto length = static_cast<uint64_t>(edges(row));
    if (edges(row) > longest) return size_t{0};
    const int bits = std::bit_width(length);
    const uint64_t second = bits < 2 ? 0 : length >> (bits - 2) & 1;
    return size_t{128} - static_cast<size_t>(2 * bits) - second;
  };
  std::vector<int64_t> begin(130, 0);
  for (int64_t row = 0; row < rows; ++row) ++begin[bucket(row) + 1];
  for (size_t i = 1; i < begin.size(); ++i) begin[i] += begin[i - 1];
  for (int64_t row = 0; row < rows; ++row) plan.rows[static_cast<size_t>(begin[bucket(row)]++)] = static_cast<int32_t>(row);
  plan.first_segment = {0};
  for (const int32_t row : plan.rows) {
    if (edges(row) <= longest) break;
    const auto place = static_cast<int32_t>(plan.first_segment.size() - 1);
    plan.row_of_segment.insert(plan.row_of_segment.end(), static_cast<size_t>((edges(row) + longest - 1) / longest), place);
    plan.first_segment.push_back(static_cast<int32_t>(plan.row_of_segment.size()));
  }
  return plan;
}

}  // namespace l0gm
