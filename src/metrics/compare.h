#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "metrics/predictions.h"
#include "metrics/row_values.h"

namespace l0gm {

// How a measure of one model differs from that of another on the same rows: positive when `first` is larger.
struct PairedDifference {
  double mean = 0;
  double low = 0, high = 0;  // 95 %, or the level that was asked for
  int64_t rows = 0, runs = 0;
};

// first - second for each labelled row, in the order of `first`'s rows.
struct RowDifferences {
  std::vector<int64_t> rows;  // their numbers
  std::vector<double> values;
};

// Rows are matched by number, so the two files may be ordered differently; other rows, labels or classes are a UserError.
RowDifferences row_differences(const Predictions& first, const Predictions& second, Measure measure);

// Differences of one run (seed) each, on the same rows, on others, or on rows that are the same in part (a seed may have a split
// of its own). A resample draws each row once for all runs that have it, since they share what is hard about it, and adds the
// effect of runs: the standard deviation of their mean beyond what rows explain, times a draw of Student's t with runs - 1
// degrees of freedom. Few runs say little about their spread, and t says so: resampling three runs would understate it. Simulated
// coverage: 93 - 98 % from three runs on. One run: the interval is about the two models as trained, not about training anew. Up
// to 20,000 rows are drawn one by one; above, their mean is drawn from its Gaussian limit. NaN where a run has no row.
PairedDifference paired_bootstrap(std::span<const RowDifferences> runs, uint64_t seed, int resamples = 2000, double level = 0.95);

// The level of each of several intervals that are to hold all at once, in 95 % of all cases (Bonferroni): whoever picks one of
// several comparisons by what they show has looked at all of them.
constexpr double joint_level(int64_t comparisons) { return 1 - 0.05 / static_cast<double>(comparisons < 1 ? 1 : comparisons); }

PairedDifference compare(const Predictions& first, const Predictions& second, Measure measure, uint64_t seed = 0);

}  // namespace l0gm
