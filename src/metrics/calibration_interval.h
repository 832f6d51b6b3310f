#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "metrics/calibration.h"
#include "metrics/predictions.h"

namespace l0gm {

// A bin of rows whose outcomes are compared with their forecasts p.
struct CalibrationCell {
  double rows = 0;
  double gap = 0;       // sum of outcomes - sum of forecasts
  double expected = 0;  // sum of p
  double squares = 0;   // sum of p^2
};

// Draws of the cells' gaps as they would be without any miscalibration: draws x cells, each in units of its standard deviation.
struct CellNoise {
  int draws = 0;
  std::vector<float> values;
};

// 95 % interval for the sum over cells of |expected gap|, in rows, by inverting a test. The measured sum T of |gap| is compared
// with the sums that would be measured were the true sum t; the interval holds every t for which T is neither among the 2.5 %
// smallest nor the 2.5 % largest. How t is divided over the cells is unknown:
//   lower limit  as the measured gaps say: the most probable division given that the sum is t
//   upper limit  also as would hide it best: every cell deviates by the same number of standard deviations
// A cell's variance is the larger of what t and what the measured gap imply: with t alone, few outcomes in cells with forecasts
// near 0 or 1 looked too certain (89 % coverage at 100 rows).
// Resampling rows does not do: |.| makes every resample larger than its source, and the interval lies above the truth.
Interval total_gap_interval(std::span<const CalibrationCell> cells, const CellNoise& noise);

// The interval of calibration_error(). Gaps of bins are taken as Gaussian with the variance that forecasts and gap imply.
Interval calibration_interval(const Forecasts& forecasts, std::span<const uint8_t> bin_of_row, uint64_t seed, int draws = 500);

// The same for ece_classwise(). Classes share the labels of the rows, so each draw gives every row one class out of its predicted
// probabilities, for all classes at once. Above `simulated_rows` rows, that many are drawn: the covariance is the same.
// With fewer rows per class than this, and probabilities far too sharp, the lower limit was found above the truth in simulations
// (30 classes and 100 to 500 rows, sharpened two to three times: in 19 to 64 % of the cases): there it is 0, and the interval
// says only how large the error may be. From there on coverage was at least 92 % as far as simulated, up to 10 classes; for the
// other errors from 20 rows on.
constexpr int64_t covered_rows_per_class = 50;
struct ClasswiseUncertainty {
  Interval interval;
  NoiseFloor floor;
};
ClasswiseUncertainty classwise_uncertainty(const Predictions& predictions, uint64_t seed, int draws = 500, int floor_draws = 200);

}  // namespace l0gm
