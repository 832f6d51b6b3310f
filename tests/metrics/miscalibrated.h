#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

#include "base/random.h"
#include "metrics/calibration.h"

// Forecasts whose true calibration error is known, to count how often an interval covers it.
namespace l0gm::testing_tools {

enum class Shape { overconfident, mixed, one_bad_bin };  // mixed: bins above and below in turn
enum class Spread { both_sides, top_class };             // of the forecasts: P(class 1), or the larger of the two

struct Miscalibrated {
  Forecasts forecasts;
  std::vector<uint8_t> bins;
  double truth = 0;  // sum over bins of |expected gap| / rows
};

inline Miscalibrated miscalibrated(int64_t rows, double error, Shape shape, Spread spread, RandomStream& random) {
  Miscalibrated out;
  std::vector<double>& p = out.forecasts.probability;
  for (int64_t i = 0; i < rows; ++i) {
    const double x = 1 / (1 + std::exp(-(spread == Spread::both_sides ? 1.5 : 2.2) * random.normal()));
    p.push_back(spread == Spread::both_sides ? x : std::max(x, 1 - x));
  }
  out.bins = equal_width_bins(p);
  std::array<int64_t, calibration_bins> counts{};
  for (const uint8_t bin : out.bins) ++counts[bin];
  const auto largest = static_cast<uint8_t>(std::max_element(counts.begin(), counts.end()) - counts.begin());
  const auto direction = [&](int64_t i) {
    if (shape == Shape::overconfident) return 0.5 - p[i];
    if (shape == Shape::mixed) return (out.bins[i] % 2 == 0 ? -4 : 4) * p[i] * (1 - p[i]);
    return out.bins[i] != largest ? 0.0 : p[i] > 0.5 ? -1.0 : 1.0;
  };
  const auto chance = [&](int64_t i, double by) { return std::clamp(p[i] + by * direction(i), 0.0, 1.0); };
  const auto error_of = [&](double by) {
    std::array<double, calibration_bins> sums{};
    for (int64_t i = 0; i < rows; ++i) sums[out.bins[i]] += chance(i, by) - p[i];
    double total = 0;
    for (const double sum : sums) total += std::abs(sum);
    return total / static_cast<double>(rows);
  };
  double low = 0, high = error > 0 ? 1 : 0;
  for (int step = 0; step < 24 && error > 0; ++step) (error_of((low + high) / 2) < error ? low : high) = (low + high) / 2;
  for (int64_t i = 0; i < rows; ++i) out.forecasts.outcome.push_back(random.uniform() < chance(i, high));
  out.truth = error_of(high);
  return out;
}

}  // namespace l0gm::testing_tools
