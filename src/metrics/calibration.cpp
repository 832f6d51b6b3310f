#include "metrics/calibration.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>

#include "base/random.h"
#include "metrics/scores.h"

namespace l0gm {
namespace {

constexpr double undefined = std::numeric_limits<double>::quiet_NaN();
constexpr size_t most_bins = 256;
using BinSums = std::array<double, most_bins>;

double absolute_sum(const BinSums& sums) {
  double total = 0;
  for (const double sum : sums) total += std::abs(sum);
  return total;
}

double gap(const Forecasts& forecasts, int64_t i) { return forecasts.outcome[i] - forecasts.probability[i]; }

int equal_width_bin(double p, int bins) {
  if (!(p > 0)) return 0;
  int bin = std::min(static_cast<int>(std::ceil(std::min(p, 1.0) * bins)) - 1, bins - 1);
  // p * bins is rounded: compare with the edges as defined, k / bins.
  if (bin > 0 && p <= static_cast<double>(bin) / bins) --bin;
  if (bin < bins - 1 && p > static_cast<double>(bin + 1) / bins) ++bin;
  return bin;
}

NoiseFloor simulated_floor(const Forecasts& forecasts, std::span<const uint8_t> bin_of_row, RandomStream& random, int draws) {
  const int64_t n = forecasts.size();
  BinSums expected{};
  for (int64_t i = 0; i < n; ++i) expected[bin_of_row[i]] += forecasts.probability[i];
  std::vector<double> errors;
  for (int r = 0; r < draws; ++r) {
    BinSums sums{};
    for (int64_t i = 0; i < n; ++i) sums[bin_of_row[i]] += random.uniform() < forecasts.probability[i] ? 1 : 0;
    for (size_t k = 0; k < most_bins; ++k) sums[k] -= expected[k];
    errors.push_back(absolute_sum(sums) / static_cast<double>(n));
  }
  const double mean = std::accumulate(errors.begin(), errors.end(), 0.0) / draws;
  double squares = 0;
  for (const double error : errors) squares += (error - mean) * (error - mean);
  return {mean, draws > 1 ? std::sqrt(squares / (draws - 1)) : undefined};
}

// Bins are independent and each sum is about normal with variance sum p (1 - p); |normal| has mean s sqrt(2/pi), variance s^2
// (1-2/pi).
NoiseFloor gaussian_floor(const Forecasts& forecasts, std::span<const uint8_t> bin_of_row) {
  BinSums variance{};
  for (int64_t i = 0; i < forecasts.size(); ++i) {
    variance[bin_of_row[i]] += forecasts.probability[i] * (1 - forecasts.probability[i]);
  }
  double deviations = 0, variances = 0;
  for (const double v : variance) {
    deviations += std::sqrt(std::max(0.0, v));
    variances += v;
  }
  const double n = static_cast<double>(forecasts.size()), two_over_pi = 2 / std::numbers::pi;
  return {std::sqrt(two_over_pi) * deviations / n, std::sqrt(std::max(0.0, (1 - two_over_pi) * variances)) / n};
}

}  // namespace

Forecasts top_forecasts(const Predictions& predictions) {
  Forecasts out;
  for (int64_t i = 0; i < predictions.size(); ++i) {
    if (predictions.labels[i] < 0) continue;
    const auto row = predictions.row(i);
    const int32_t top = top_class(row);
    out.probability.push_back(row[top]);
    out.outcome.push_back(top == predictions.labels[i]);
  }
  return out;
}

Forecasts class_forecasts(const Predictions& predictions, int32_t of_class) {
  Forecasts out;
  for (int64_t i = 0; i < predictions.size(); ++i) {
    if (predictions.labels[i] < 0) continue;
    out.probability.push_back(predictions.row(i)[of_class]);
    out.outcome.push_back(predictions.labels[i] == of_class);
  }
  return out;
}

std::vector<uint8_t> equal_width_bins(std::span<const double> probabilities, int bins) {
  std::vector<uint8_t> out(probabilities.size());
  std::transform(probabilities.begin(), probabilities.end(), out.begin(),
                 [bins](double p) { return static_cast<uint8_t>(equal_width_bin(p, bins)); });
  return out;
}

std::vector<uint8_t> equal_mass_bins(std::span<const double> probabilities, int bins) {
  if (probabilities.empty()) return {};
  std::vector<double> sorted(probabilities.begin(), probabilities.end());
  std::sort(sorted.begin(), sorted.end());
  std::vector<double> upper_edges;
  for (int k = 1; k <= bins; ++k) upper_edges.push_back(sorted[(k * sorted.size() + bins - 1) / bins - 1]);
  std::vector<uint8_t> out(probabilities.size());
  std::transform(probabilities.begin(), probabilities.end(), out.begin(), [&](double p) {
    return static_cast<uint8_t>(std::lower_bound(upper_edges.begin(), upper_edges.end(), p) - upper_edges.begin());
  });
  return out;
}

double calibration_error(const Forecasts& forecasts, std::span<const uint8_t> bin_of_row) {
  if (forecasts.size() == 0) return undefined;
  BinSums sums{};
  for (int64_t i = 0; i < forecasts.size(); ++i) sums[bin_of_row[i]] += gap(forecasts, i);
  return absolute_sum(sums) / static_cast<double>(forecasts.size());
}

double ece(const Predictions& predictions) {
  const Forecasts forecasts = top_forecasts(predictions);
  return calibration_error(forecasts, equal_width_bins(forecasts.probability));
}

double ece_binary(const Predictions& predictions) {
  if (predictions.class_count() != 2) return undefined;
  const Forecasts forecasts = class_forecasts(predictions, 1);
  return calibration_error(forecasts, equal_width_bins(forecasts.probability));
}

double ece_adaptive(const Predictions& predictions) {
  const Forecasts forecasts = top_forecasts(predictions);
  return calibration_error(forecasts, equal_mass_bins(forecasts.probability));
}

double ece_classwise(const Predictions& predictions) {
  const int64_t classes = predictions.class_count();
  const int64_t n = labelled_rows(predictions);
  if (n == 0) return undefined;
  std::vector<double> sums(classes * calibration_bins, 0.0);
  for (int64_t i = 0; i < predictions.size(); ++i) {
    if (predictions.labels[i] < 0) continue;
    const auto row = predictions.row(i);
    for (int64_t c = 0; c < classes; ++c) {
      sums[c * calibration_bins + equal_width_bin(row[c], calibration_bins)] += (predictions.labels[i] == c) - row[c];
    }
  }
  double total = 0;
  for (const double sum : sums) total += std::abs(sum);
  return total / static_cast<double>(n) / static_cast<double>(classes);
}

std::vector<ReliabilityBin> reliability(const Forecasts& forecasts, int bins) {
  std::vector<ReliabilityBin> out(bins);
  const std::vector<uint8_t> bin_of_row = equal_width_bins(forecasts.probability, bins);
  for (int64_t i = 0; i < forecasts.size(); ++i) {
    ReliabilityBin& bin = out[bin_of_row[i]];
    ++bin.count;
    bin.confidence += forecasts.probability[i];
    bin.accuracy += forecasts.outcome[i];
  }
  for (int k = 0; k < bins; ++k) {
    out[k].low = static_cast<double>(k) / bins;
    out[k].high = static_cast<double>(k + 1) / bins;
    out[k].confidence /= static_cast<double>(out[k].count);  // an empty bin gets 0 / 0 = NaN
    out[k].accuracy /= static_cast<double>(out[k].count);
  }
  return out;
}

NoiseFloor noise_floor(const Forecasts& forecasts, std::span<const uint8_t> bin_of_row, uint64_t seed, int draws) {
  if (forecasts.size() == 0) return {undefined, undefined};
  if (forecasts.size() > simulated_rows) return gaussian_floor(forecasts, bin_of_row);
  RandomStream random(seed, 2);
  return simulated_floor(forecasts, bin_of_row, random, draws);
}

double quantile(std::vector<double>& values, double q) {
  if (values.empty()) return undefined;
  std::sort(values.begin(), values.end());
  const double position = q * static_cast<double>(values.size() - 1);
  const size_t below = static_cast<size_t>(position);
  const size_t next = std::min(below + 1, values.size() - 1);
  return values[below] + (position - static_cast<double>(below)) * (values[next] - values[below]);
}

}  // namespace l0gm
