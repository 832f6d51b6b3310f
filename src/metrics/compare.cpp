#include "metrics/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <unordered_map>

#include "base/random.h"
#include "base/text.h"
#include "l0gm/error.h"
#include "metrics/calibration.h"

namespace l0gm {
namespace {

constexpr double undefined = std::numeric_limits<double>::quiet_NaN();

// Differences of all runs, taken together. A row's pull is what the mean over runs moves by when the row is drawn once more.
struct Pooled {
  double mean = 0;            // over runs of the mean over their rows
  std::vector<double> pulls;  // of each row that any run has; they add up to 0
  double row_variance = 0;    // of the mean, because rows were drawn
  double run_variance = 0;    // of the mean, because runs were, beyond what their rows explain
};

double square(double value) { return value * value; }

Pooled pool(std::span<const RowDifferences> runs) {
  Pooled out;
  std::unordered_map<int64_t, size_t> places;
  std::vector<double> means;
  const auto count = static_cast<double>(runs.size());
  double own_variances = 0;  // of each run's mean over its rows, added up
  for (const RowDifferences& run : runs) {
    const auto n = static_cast<double>(run.values.size());
    means.push_back(std::accumulate(run.values.begin(), run.values.end(), 0.0) / n);
    double squares = 0;
    for (size_t i = 0; i < run.values.size(); ++i) {
      const auto [found, is_new] = places.emplace(run.rows[i], out.pulls.size());
      if (is_new) out.pulls.push_back(0);
      const double pull = (run.values[i] - means.back()) / n;
      out.pulls[found->second] += pull / count;
      squares += square(pull);
    }
    own_variances += n > 1 ? squares * n / (n - 1) : 0;
  }
  out.mean = std::accumulate(means.begin(), means.end(), 0.0) / count;
  const auto rows = static_cast<double>(out.pulls.size());
  for (const double pull : out.pulls) out.row_variance += rows > 1 ? square(pull) * rows / (rows - 1) : 0;
  if (runs.size() < 2 || rows < 2) return out;
  // Means of runs spread by their rows as well: by the variance of one less the covariance of two, which is that of shared rows.
  // Of a spread out of few runs only half of that is taken off: all of it leaves intervals that cover 91 % where runs differ
  // about as much as rows make them differ, and none of it intervals that are twice as wide as they need be where runs do not
  // differ.
  const double covariances = square(count) * out.row_variance - own_variances;
  const double by_rows = own_variances / count - covariances / (count * (count - 1));
  double spread = 0;
  for (const double mean : means) spread += square(mean - out.mean) / (count - 1);
  out.run_variance = std::max(0.0, spread - by_rows / 2) / count;
  return out;
}

double student_t(int degrees_of_freedom, RandomStream& random) {
  double squares = 0;
  for (int k = 0; k < degrees_of_freedom; ++k) {
    const double value = random.normal();
    squares += value * value;
  }
  return random.normal() / std::sqrt(squares / degrees_of_freedom);
}

std::unordered_map<int64_t, int64_t> positions_of(const std::vector<int64_t>& rows) {
  std::unordered_map<int64_t, int64_t> positions;
  positions.reserve(rows.size());
  for (size_t i = 0; i < rows.size(); ++i) positions.emplace(rows[i], static_cast<int64_t>(i));
  return positions;
}

}  // namespace

RowDifferences row_differences(const Predictions& first, const Predictions& second, Measure measure) {
  if (first.classes != second.classes) {
    throw UserError(
        fmt::format("two sets of predictions name different classes ({} and {}): they cannot be compared; write both "
                    "with the same classes in the same order",
                    list_some(first.classes), list_some(second.classes)));
  }
  if (first.size() != second.size()) {
    throw UserError(fmt::format("two sets of predictions have {} and {} rows: only predictions of the same rows can be compared",
                                first.size(), second.size()));
  }
  std::unordered_map<int64_t, int64_t> positions;
  if (first.rows != second.rows) positions = positions_of(second.rows);
  const std::vector<double> first_values = row_values(first, measure), second_values = row_values(second, measure);
  RowDifferences out;
  for (int64_t i = 0; i < first.size(); ++i) {
    int64_t other = i;
    if (!positions.empty()) {
      const auto found = positions.find(first.rows[i]);
      if (found == positions.end()) {
        throw UserError(
            fmt::format("row {} is in one set of predictions and not in the other: only predictions of the same rows can "
                        "be compared",
                        first.rows[i]));
      }
      other = found->second;
    }
    const int32_t label = first.labels[i];
    if (label != second.labels[other]) {
      const auto name = [&](int32_t k) { return k < 0 ? std::string("unknown") : "'" + first.classes[k] + "'"; };
      throw UserError(
          fmt::format("row {} has label {} in one set of predictions and {} in the other: they come from different data",
                      first.rows[i], name(label), name(second.labels[other])));
    }
    if (label < 0) continue;
    out.rows.push_back(first.rows[i]);
    out.values.push_back(first_values[i] - second_values[other]);
  }
  return out;
}

PairedDifference paired_bootstrap(std::span<const RowDifferences> runs, uint64_t seed, int resamples, double level) {
  PairedDifference out{undefined, undefined, undefined, 0, static_cast<int64_t>(runs.size())};
  if (runs.empty()) return out;
  for (const RowDifferences& run : runs) {
    if (run.values.empty()) return out;
  }
  const Pooled pooled = pool(runs);
  const size_t n = pooled.pulls.size();
  out.rows = static_cast<int64_t>(n);
  out.mean = pooled.mean;
  if (!std::isfinite(out.mean)) return out;
  const double run_deviation = std::sqrt(pooled.run_variance), row_deviation = std::sqrt(pooled.row_variance);
  RandomStream random(seed, 3);
  std::vector<double> deviations;
  for (int b = 0; b < resamples; ++b) {
    double deviation = run_deviation > 0 ? run_deviation * student_t(static_cast<int>(runs.size()) - 1, random) : 0;
    if (n > static_cast<size_t>(simulated_rows)) {
      deviation += row_deviation * random.normal();
    } else {
      for (size_t k = 0; k < n; ++k) deviation += pooled.pulls[random.below(n)];
    }
    deviations.push_back(deviation);
  }
  out.low = out.mean + quantile(deviations, (1 - level) / 2);
  out.high = out.mean + quantile(deviations, (1 + level) / 2);
  return out;
}

PairedDifference compare(const Predictions& first, const Predictions& second, Measure measure, uint64_t seed) {
  const RowDifferences differences = row_differences(first, second, measure);
  return paired_bootstrap({&differences, 1}, seed);
}

}  // namespace l0gm
