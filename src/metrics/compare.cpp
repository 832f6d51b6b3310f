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

struct Variances {
  double rows = 0;  // of the mean over rows and runs, because rows were drawn
  double runs = 0;  // because runs were, beyond `rows`
};

double squares_about(const std::vector<double>& values, double mean) {
  double sum = 0;
  for (const double value : values) sum += (value - mean) * (value - mean);
  return sum;
}

// Two-way analysis of variance, rows x runs.
Variances variances_of(const std::vector<std::vector<double>>& runs, const std::vector<double>& row_means, double mean) {
  const auto n = static_cast<double>(row_means.size()), count = static_cast<double>(runs.size());
  Variances out;
  out.rows = n > 1 ? squares_about(row_means, mean) / (n - 1) / n : 0;
  if (n <= 1 || runs.size() < 2) return out;
  std::vector<double> run_means;
  double residual = 0;
  for (const std::vector<double>& run : runs) {
    run_means.push_back(std::accumulate(run.begin(), run.end(), 0.0) / n);
    for (size_t i = 0; i < run.size(); ++i) {
      const double rest = run[i] - row_means[i] - run_means.back() + mean;
      residual += rest * rest;
    }
  }
  const double between = squares_about(run_means, mean) / (count - 1) / count;
  residual /= (n - 1) * (count - 1) * n * count;  // its part of both `rows` and `between`
  out.runs = std::max(0.0, between - residual);
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

// The values of each run in the order of the first run's rows.
std::vector<std::vector<double>> matched(std::span<const RowDifferences> runs) {
  std::vector<std::vector<double>> out;
  for (const RowDifferences& run : runs) {
    if (run.rows == runs[0].rows) {
      out.push_back(run.values);
      continue;
    }
    if (run.rows.size() != runs[0].rows.size()) {
      throw UserError(fmt::format("two runs were judged on {} and {} rows: only runs with the same rows can be taken together",
                                  runs[0].rows.size(), run.rows.size()));
    }
    const auto positions = positions_of(run.rows);
    std::vector<double>& values = out.emplace_back();
    for (const int64_t row : runs[0].rows) {
      const auto found = positions.find(row);
      if (found == positions.end()) {
        throw UserError(
            fmt::format("row {} was judged in one run and not in another: only runs with the same rows can be taken together",
                        row));
      }
      values.push_back(run.values[found->second]);
    }
  }
  return out;
}

}  // namespace

RowDifferences row_differences(const Predictions& first, const Predictions& second, RowMetric metric) {
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
    out.values.push_back(row_metric(first.row(i), label, metric) - row_metric(second.row(other), label, metric));
  }
  return out;
}

PairedDifference paired_bootstrap(std::span<const RowDifferences> runs, uint64_t seed, int resamples) {
  PairedDifference out{undefined, undefined, undefined, 0, static_cast<int64_t>(runs.size())};
  if (runs.empty()) return out;
  const std::vector<std::vector<double>> values = matched(runs);
  const size_t n = values[0].size();
  out.rows = static_cast<int64_t>(n);
  if (n == 0) return out;
  std::vector<double> row_means(n, 0.0);
  for (const std::vector<double>& run : values) {
    for (size_t i = 0; i < n; ++i) row_means[i] += run[i] / static_cast<double>(values.size());
  }
  out.mean = std::accumulate(row_means.begin(), row_means.end(), 0.0) / static_cast<double>(n);
  const Variances variances = variances_of(values, row_means, out.mean);
  const double run_deviation = std::sqrt(variances.runs), row_deviation = std::sqrt(variances.rows);
  RandomStream random(seed, 3);
  std::vector<double> deviations;
  for (int b = 0; b < resamples; ++b) {
    double deviation = run_deviation > 0 ? run_deviation * student_t(static_cast<int>(runs.size()) - 1, random) : 0;
    if (n > static_cast<size_t>(simulated_rows)) {
      deviation += row_deviation * random.normal();
    } else {
      double sum = 0;
      for (size_t k = 0; k < n; ++k) sum += row_means[random.below(n)];
      deviation += sum / static_cast<double>(n) - out.mean;
    }
    deviations.push_back(deviation);
  }
  out.low = out.mean + quantile(deviations, 0.025);
  out.high = out.mean + quantile(deviations, 0.975);
  return out;
}

PairedDifference compare(const Predictions& first, const Predictions& second, RowMetric metric, uint64_t seed) {
  const RowDifferences differences = row_differences(first, second, metric);
  return paired_bootstrap({&differences, 1}, seed);
}

}  // namespace l0gm
