#include "data/table/fit_numeric.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "base/text.h"
#include "l0gm/error.h"

namespace l0gm {
namespace {

constexpr int64_t few_values = 1000, often = 10, spike_share = 100;  // a spike: one row in a hundred

// Calls visit(value, count) for each different value.
template <class Visit>
void each_distinct(std::span<const double> sorted, const Visit& visit) {
  for (size_t at = 0; at < sorted.size();) {
    const size_t start = at;
    while (at < sorted.size() && sorted[at] == sorted[start]) ++at;
    visit(sorted[start], static_cast<int64_t>(at - start));
  }
}

}  // namespace

bool all_whole(std::span<const double> values) {
  return std::all_of(values.begin(), values.end(), [](double value) { return value == std::floor(value); });
}

int count_distinct(std::span<const double> sorted) {
  int count = sorted.empty() ? 0 : 1;
  for (size_t i = 1; i < sorted.size() && count < 3; ++i) count += sorted[i] != sorted[i - 1] ? 1 : 0;
  return count;
}

void fit_numeric(Column& column, Field& field, std::span<const double> sorted, const ColumnRequest& request, int64_t table_bins) {
  // Long double and sorted order: no overflow, and the same bits for any order of the rows.
  long double sum = 0, squares = 0;
  for (const double value : sorted) sum += value;
  const long double mean = sum / static_cast<long double>(sorted.size());
  for (const double value : sorted) squares += (value - mean) * (value - mean);
  column.low = sorted.front();
  column.high = sorted.back();
  column.deviation = static_cast<double>(std::sqrt(squares / static_cast<long double>(sorted.size())));
  column.integral = all_whole(sorted);
  const bool periodic = request.options.encoding == "periodic";
  if (periodic || request.options.encoding == "plain" || column.low == column.high) {
    field.kind = periodic ? FieldKind::periodic : FieldKind::plain;
    field.mean = static_cast<double>(mean);
    field.deviation = column.deviation > 0 ? column.deviation : 1.0;
  } else {
    field.kind = FieldKind::piecewise;
    field.edges = quantile_edges(sorted, request.options.bins > 0 ? request.options.bins : table_bins);
  }
}

std::vector<double> quantile_edges(std::span<const double> sorted, int64_t bins) {
  std::vector<double> distinct, edges, others;
  std::unique_copy(sorted.begin(), sorted.end(), std::back_inserter(distinct));
  if (static_cast<int64_t>(distinct.size()) <= bins + 1) return distinct;
  for (size_t i = 0, at = 0; i < distinct.size(); ++i) {
    const size_t start = at;
    while (at < sorted.size() && sorted[at] == distinct[i]) ++at;
    if (4 * (at - start) > sorted.size()) {
      edges.push_back(distinct[i]);
      if (i + 1 < distinct.size()) edges.push_back(distinct[i + 1]);
    } else {
      others.insert(others.end(), at - start, distinct[i]);
    }
  }
  for (int64_t k = 0; k <= bins && !others.empty(); ++k) {
    const int64_t last = static_cast<int64_t>(others.size()) - 1;
    edges.push_back(others[static_cast<size_t>((k * last + bins / 2) / bins)]);
  }
  std::sort(edges.begin(), edges.end());
  edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
  return edges;
}

std::vector<double> exact_values(const std::string& name, std::span<const double> sorted, ExactValues mode, int64_t min_count,
                                 int64_t most) {
  if (mode == ExactValues::off) return {};
  const auto rows = static_cast<int64_t>(sorted.size());
  int64_t distinct = 0;
  each_distinct(sorted, [&](double, int64_t) { ++distinct; });
  const bool few = distinct <= std::min(few_values, most) && rows >= often * distinct;
  std::vector<std::pair<double, int64_t>> kept;
  each_distinct(sorted, [&](double value, int64_t count) {
    const bool spike = count >= often && spike_share * count >= rows;
    if (count >= min_count && (mode == ExactValues::on || few || spike)) kept.emplace_back(value, count);
  });
  if (mode == ExactValues::on && static_cast<int64_t>(kept.size()) > most) {
    throw UserError(
        fmt::format("column '{}' has {} different numbers in the training rows, more than table.max_categories = {}, but its "
                    "exact values are on. Set columns.{}.exact_values = \"auto\", or raise columns.{}.min_count (now {}) or "
                    "table.max_categories.",
                    name, with_thousands(static_cast<int64_t>(kept.size())), most, name, name, min_count));
  }
  std::stable_sort(kept.begin(), kept.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  std::vector<double> values;
  values.reserve(kept.size());
  for (const auto& entry : kept) values.push_back(entry.first);
  return values;
}

}  // namespace l0gm
