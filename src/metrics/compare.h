#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "metrics/predictions.h"
#include "metrics/scores.h"

namespace l0gm {

// How a mean per-row metric of one model differs from that of another on the same rows: positive when `first` is larger.
struct PairedDifference {
  double mean = 0;
  double low = 0, high = 0;  // 95 % percentile bootstrap over rows (and, with several runs, over runs)
  int64_t rows = 0;
};

// first - second for each labelled row, in the order of `first`'s rows. Rows are matched by number, so the two files may be
// ordered differently; other rows, labels or classes are a UserError.
std::vector<double> row_differences(const Predictions& first, const Predictions& second, RowMetric metric);

// One vector of row differences per run (seed): runs are resampled, and rows within each drawn run. With one run: rows only.
// A run's resampled mean is simulated up to 20,000 rows and drawn from its Gaussian limit above. NaN without a row.
PairedDifference paired_bootstrap(std::span<const std::vector<double>> differences_by_run, uint64_t seed, int resamples = 2000);

PairedDifference compare(const Predictions& first, const Predictions& second, RowMetric metric, uint64_t seed = 0);

}  // namespace l0gm
