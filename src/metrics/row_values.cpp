#include "metrics/row_values.h"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>

#include "metrics/calibration.h"
#include "metrics/scores.h"

namespace l0gm {
namespace {

constexpr double undefined = std::numeric_limits<double>::quiet_NaN();

std::vector<double> values_of_rows(const Predictions& predictions, RowMetric metric) {
  std::vector<double> values;
  values.reserve(static_cast<size_t>(predictions.size()));
  for (int64_t i = 0; i < predictions.size(); ++i)
    values.push_back(row_metric(predictions.row(i), predictions.labels[i], metric));
  return values;
}

// Adds the components of one class against the rest to `sums`; false where there is only one of the two.
bool add_auc_components(const Predictions& predictions, const std::vector<int64_t>& labelled, int32_t of_class,
                        std::vector<double>& sums) {
  const auto score = [&](int64_t i) { return predictions.row(i)[static_cast<size_t>(of_class)]; };
  std::vector<int64_t> order = labelled;
  std::sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return score(a) < score(b); });
  const auto is_positive = [&](int64_t i) { return predictions.labels[static_cast<size_t>(i)] == of_class; };
  const auto positives = static_cast<double>(std::count_if(order.begin(), order.end(), is_positive));
  const auto rows = static_cast<double>(order.size()), negatives = rows - positives;
  if (positives == 0 || negatives == 0) return false;
  // The share of the other class that the row is on the right side of; ties count half.
  std::vector<double> right(order.size());
  std::array<double, 2> before{0, 0};
  double area = 0;
  for (size_t begin = 0, end = 0; begin < order.size(); begin = end) {
    std::array<double, 2> tied{0, 0};
    for (end = begin; end < order.size() && score(order[end]) == score(order[begin]); ++end)
      tied[is_positive(order[end]) ? 1 : 0] += 1;
    for (size_t k = begin; k < end; ++k) {
      right[k] =
          is_positive(order[k]) ? (before[0] + tied[0] / 2) / negatives : (positives - before[1] - tied[1] / 2) / positives;
      if (is_positive(order[k])) area += right[k] / positives;
    }
    before[0] += tied[0];
    before[1] += tied[1];
  }
  for (size_t k = 0; k < order.size(); ++k) {
    const double weight = rows / (is_positive(order[k]) ? positives : negatives);
    sums[static_cast<size_t>(order[k])] += area + weight * (right[k] - area);
  }
  return true;
}

std::vector<double> auc_components(const Predictions& predictions) {
  std::vector<int64_t> labelled;
  for (int64_t i = 0; i < predictions.size(); ++i) {
    if (predictions.labels[static_cast<size_t>(i)] >= 0) labelled.push_back(i);
  }
  std::vector<double> sums(static_cast<size_t>(predictions.size()), 0.0), values(sums.size(), undefined);
  double classes = 0;
  for (int64_t c = predictions.class_count() == 2 ? 1 : 0; c < predictions.class_count(); ++c) {
    classes += add_auc_components(predictions, labelled, static_cast<int32_t>(c), sums) ? 1 : 0;
  }
  if (classes == 0) return values;
  for (const int64_t i : labelled) values[static_cast<size_t>(i)] = sums[static_cast<size_t>(i)] / classes;
  return values;
}

std::vector<double> calibration_components(const Predictions& predictions) {
  const Forecasts forecasts = predictions.class_count() == 2 ? class_forecasts(predictions, 1) : top_forecasts(predictions);
  const std::vector<uint8_t> bins = equal_width_bins(forecasts.probability);
  std::array<double, calibration_bins> gap{};
  for (size_t k = 0; k < bins.size(); ++k) gap[bins[k]] += forecasts.outcome[k] - forecasts.probability[k];
  std::vector<double> values;
  size_t k = 0;  // forecasts are those of the labelled rows
  for (int64_t i = 0; i < predictions.size(); ++i) {
    if (predictions.labels[static_cast<size_t>(i)] < 0) {
      values.push_back(undefined);
      continue;
    }
    const double difference = forecasts.outcome[k] - forecasts.probability[k];
    values.push_back(gap[bins[k]] < 0 ? -difference : difference);
    ++k;
  }
  return values;
}

}  // namespace

bool larger_is_better(Measure measure) { return measure == Measure::accuracy || measure == Measure::auc; }

double measure_of(const Predictions& predictions, Measure measure) {
  switch (measure) {
    case Measure::accuracy:
      return accuracy(predictions);
    case Measure::auc:
      return auc(predictions);
    case Measure::nll:
      return nll(predictions);
    case Measure::brier:
      return brier(predictions);
    case Measure::ece:
      return predictions.class_count() == 2 ? ece_binary(predictions) : ece(predictions);
  }
  return undefined;
}

std::vector<double> row_values(const Predictions& predictions, Measure measure) {
  switch (measure) {
    case Measure::accuracy:
      return values_of_rows(predictions, RowMetric::accuracy);
    case Measure::nll:
      return values_of_rows(predictions, RowMetric::nll);
    case Measure::brier:
      return values_of_rows(predictions, RowMetric::brier);
    case Measure::auc:
      return auc_components(predictions);
    case Measure::ece:
      return calibration_components(predictions);
  }
  return {};
}

}  // namespace l0gm
