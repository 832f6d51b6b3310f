#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/table/column_request.h"
#include "data/table/options.h"
#include "encode/table/schema.h"

namespace l0gm {

bool all_whole(std::span<const double> values);
int count_distinct(std::span<const double> sorted);  // 0, 1, 2 or 3 for "more"

// The column's range and its main field: piecewise, plain or periodic.
void fit_numeric(Column& column, Field& field, std::span<const double> sorted, const ColumnRequest& request, int64_t table_bins);

// Strictly increasing edges of at most `bins` bins with about equally many of the values in each; `sorted` values, two or more
// different. With no more different values than edges each is an edge. A value that makes up more than a quarter of all is left
// out of the quantiles and becomes an edge of its own, and so does its successor: its bin then holds nothing else (up to 6 more
// bins).
std::vector<double> quantile_edges(std::span<const double> sorted, int64_t bins);

// The values that get rows of their own beside the main field, by descending count (ties: ascending), each seen at least
// `min_count` times. automatic: all when there are at most 1,000 different ones, each seen ten times on average; else those that
// make up a hundredth of the rows each and ten rows (in a short table a hundredth is next to nothing). on: all; more than `most`
// are a UserError.
std::vector<double> exact_values(const std::string& name, std::span<const double> sorted, ExactValues mode, int64_t min_count,
                                 int64_t most);

}  // namespace l0gm
