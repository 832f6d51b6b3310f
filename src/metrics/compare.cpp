#include "metrics/compare.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <unordered_map>

#include "base/random.h"
#include "base/text.h"
#include "l0gm/error.h"
#include "metrics/calibration.h"

namespace l0gm {
namespace {

constexpr double undefined = std::numeric_limits<double>::quiet_NaN();

struct Run {
  const std::vector<double>* values = nullptr;
  double mean = 0, error = 0;  // error: standard deviation of a resampled mean
};

Run summarise(const std::vector<double>& values) {
  const double n = static_cast<double>(values.size());
  double sum = 0, squares = 0;
  for (const double value : values) sum += value;
  for (const double value : values) squares += (value - sum / n) * (value - sum / n);
  return {&values, sum / n, std::sqrt(squares / n / n)};
}

double resampled_mean(const Run& run, RandomStream& random) {
  const size_t n = run.values->size();
  if (n > static_cast<size_t>(simulated_rows)) return run.mean + run.error * random.normal();
  double sum = 0;
  for (size_t k = 0; k < n; ++k) sum += (*run.values)[random.below(n)];
  return sum / static_cast<double>(n);
}

std::unordered_map<int64_t, int64_t> positions_of(const Predictions& predictions) {
  std::unordered_map<int64_t, int64_t> positions;
  positions.reserve(predictions.rows.size());
  for (int64_t i = 0; i < predictions.size(); ++i) positions.emplace(predictions.rows[i], i);
  return positions;
}

}  // namespace

std::vector<double> row_differences(const Predictions& first, const Predictions& second, RowMetric metric) {
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
  if (first.rows != second.rows) positions = positions_of(second);
  std::vector<double> out;
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
    out.push_back(row_metric(first.row(i), label, metric) - row_metric(second.row(other), label, metric));
  }
  return out;
}

PairedDifference paired_bootstrap(std::span<const std::vector<double>> differences_by_run, uint64_t seed, int resamples) {
  PairedDifference out{0, undefined, undefined, 0};
  std::vector<Run> runs;
  for (const std::vector<double>& values : differences_by_run) {
    if (values.empty()) continue;
    runs.push_back(summarise(values));
    out.mean += runs.back().mean;
    out.rows += static_cast<int64_t>(values.size());
  }
  const double count = static_cast<double>(runs.size());
  out.mean = runs.empty() ? undefined : out.mean / count;
  if (runs.empty()) return out;
  RandomStream random(seed, 3);
  std::vector<double> means;
  for (int b = 0; b < resamples; ++b) {
    double sum = 0;
    for (size_t k = 0; k < runs.size(); ++k) sum += resampled_mean(runs[random.below(runs.size())], random);
    means.push_back(sum / count);
  }
  out.low = quantile(means, 0.025);
  out.high = quantile(means, 0.975);
  return out;
}

PairedDifference compare(const Predictions& first, const Predictions& second, RowMetric metric, uint64_t seed) {
  const std::vector<double> differences = row_differences(first, second, metric);
  return paired_bootstrap({&differences, 1}, seed);
}

}  // namespace l0gm
