#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "metrics/predictions.h"

namespace l0gm {

// Expected calibration error: rows are put into bins by a forecast probability; the error is the sum over bins of
// |sum of outcomes - sum of forecasts| / rows. Every variant is a choice of forecasts and of bins.
constexpr int calibration_bins = 15;

// One forecast per labelled row, and its outcome: 1 if the forecast event occurred, else 0.
struct Forecasts {
  std::vector<double> probability;
  std::vector<uint8_t> outcome;
  int64_t size() const { return static_cast<int64_t>(probability.size()); }
};
Forecasts top_forecasts(const Predictions& predictions);                      // top-1 confidence, and whether it was right
Forecasts class_forecasts(const Predictions& predictions, int32_t of_class);  // P(class), and whether it was the label

// The bin of each forecast. Equal width: bin k is (k/15, (k+1)/15], 0 in the first. Equal mass: the upper edges are the order
// statistics of rank ceil((k+1) n / 15), so rows with equal forecasts always share a bin and the order of rows does not matter.
std::vector<uint8_t> equal_width_bins(std::span<const double> probabilities, int bins = calibration_bins);
std::vector<uint8_t> equal_mass_bins(std::span<const double> probabilities, int bins = calibration_bins);

double calibration_error(const Forecasts& forecasts, std::span<const uint8_t> bin_of_row);

// The measures themselves; NaN without a labelled row.
double ece(const Predictions& predictions);  // top-1 confidence, equal width
double ece_binary(
    const Predictions& predictions);  // P(class 1) against the share of class 1, equal width; NaN unless two classes
double ece_adaptive(const Predictions& predictions);   // top-1 confidence, equal mass
double ece_classwise(const Predictions& predictions);  // mean over all classes of the one-vs-rest error, equal width

// A bin of a reliability diagram; bins without rows have count 0 and NaN means.
struct ReliabilityBin {
  using HasFields = void;
  double low = 0, high = 0;
  int64_t count = 0;
  double confidence = 0, accuracy = 0;

  template <class Visitor>
  void visit(Visitor& v) {
    v("low", low);
    v("high", high);
    v("count", count);
    v("confidence", confidence);
    v("accuracy", accuracy);
  }
};
std::vector<ReliabilityBin> reliability(const Forecasts& forecasts, int bins = calibration_bins);

struct Interval {
  double low = 0, high = 0;
};
struct NoiseFloor {
  double mean = 0, standard_deviation = 0;
};

// Up to this many rows floors are simulated row by row. Above, they come from the Gaussian limit (the exact mean and covariance
// of the row-wise scheme): the work no longer depends on the number of rows.
constexpr int64_t simulated_rows = 20'000;

// The error of a perfectly calibrated model with these forecasts: outcomes are redrawn from the forecasts.
NoiseFloor noise_floor(const Forecasts& forecasts, std::span<const uint8_t> bin_of_row, uint64_t seed, int draws = 200);

// Linear interpolation between order statistics (as numpy by default); sorts its argument. NaN if empty.
double quantile(std::vector<double>& values, double q);

}  // namespace l0gm
