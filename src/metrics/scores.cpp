#include "metrics/scores.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>

namespace l0gm {
namespace {

constexpr double undefined = std::numeric_limits<double>::quiet_NaN();

double mean_of(const Predictions& predictions, RowMetric metric) {
  double sum = 0;
  int64_t count = 0;
  for (int64_t i = 0; i < predictions.size(); ++i) {
    const int32_t label = predictions.labels[i];
    if (label < 0) continue;
    sum += row_metric(predictions.row(i), label, metric);
    ++count;
  }
  return count == 0 ? undefined : sum / static_cast<double>(count);
}

// Least significant digit first, 11 bits at a time: several times faster than std::sort on millions of keys, and a macro AUC
// over 47 classes and 2 million rows sorts 47 times.
void sort_keys(std::vector<uint64_t>& keys, std::vector<uint64_t>& scratch) {
  if (keys.size() < 4096) {
    std::sort(keys.begin(), keys.end());
    return;
  }
  constexpr int digit_bits = 11, digits = 6;
  constexpr uint64_t mask = (uint64_t{1} << digit_bits) - 1;
  std::vector<std::array<size_t, mask + 1>> counts(digits);
  for (auto& count : counts) count.fill(0);
  for (const uint64_t key : keys) {
    for (int d = 0; d < digits; ++d) ++counts[d][(key >> (d * digit_bits)) & mask];
  }
  scratch.resize(keys.size());
  for (int d = 0; d < digits; ++d) {
    auto& count = counts[d];
    if (count[(keys[0] >> (d * digit_bits)) & mask] == keys.size()) continue;  // all alike in this digit
    size_t begin = 0;
    for (size_t& c : count) begin += std::exchange(c, begin);
    for (const uint64_t key : keys) scratch[count[(key >> (d * digit_bits)) & mask]++] = key;
    keys.swap(scratch);
  }
}

// For p >= 0 the bits of a double order like its value; p <= 1 leaves the top bit free, so label and score share one key.
uint64_t auc_key(double p, bool positive) { return std::bit_cast<uint64_t>(p + 0.0) << 1 | static_cast<uint64_t>(positive); }

// keys are sorted. Twice the number of (positive, negative) pairs in the right order, ties counted one half, over twice all
// pairs.
double area(const std::vector<uint64_t>& keys) {
  uint64_t negatives = 0, positives = 0, doubled_wins = 0;
  for (size_t k = 0; k < keys.size();) {
    uint64_t tied[2] = {0, 0};
    const uint64_t score = keys[k] >> 1;
    for (; k < keys.size() && keys[k] >> 1 == score; ++k) ++tied[keys[k] & 1];
    doubled_wins += tied[1] * (2 * negatives + tied[0]);
    negatives += tied[0];
    positives += tied[1];
  }
  if (negatives == 0 || positives == 0) return undefined;
  return static_cast<double>(doubled_wins) / (2.0 * static_cast<double>(positives) * static_cast<double>(negatives));
}

}  // namespace

int64_t labelled_rows(const Predictions& predictions) {
  return std::count_if(predictions.labels.begin(), predictions.labels.end(), [](int32_t label) { return label >= 0; });
}

int32_t top_class(std::span<const double> probabilities) {
  return static_cast<int32_t>(std::max_element(probabilities.begin(), probabilities.end()) - probabilities.begin());
}

double row_metric(std::span<const double> probabilities, int32_t label, RowMetric metric) {
  if (label < 0) return undefined;
  if (metric == RowMetric::accuracy) return top_class(probabilities) == label ? 1 : 0;
  if (metric == RowMetric::nll) return -std::log(std::max(probabilities[label], smallest_probability));
  if (probabilities.size() == 2) return std::pow(probabilities[1] - label, 2);
  double sum = 0;
  for (size_t c = 0; c < probabilities.size(); ++c) {
    const double difference = probabilities[c] - (static_cast<int32_t>(c) == label ? 1 : 0);
    sum += difference * difference;
  }
  return sum;
}

double accuracy(const Predictions& predictions) { return mean_of(predictions, RowMetric::accuracy); }
double nll(const Predictions& predictions) { return mean_of(predictions, RowMetric::nll); }
double brier(const Predictions& predictions) { return mean_of(predictions, RowMetric::brier); }

double auc(const Predictions& predictions) {
  const int64_t classes = predictions.class_count();
  std::vector<bool> present(classes, false);
  for (const int32_t label : predictions.labels) {
    if (label >= 0) present[label] = true;
  }
  std::vector<uint64_t> keys, scratch;
  double sum = 0;
  int64_t counted = 0;
  for (int64_t c = classes == 2 ? 1 : 0; c < classes; ++c) {
    if (!present[c]) continue;
    keys.clear();
    for (int64_t i = 0; i < predictions.size(); ++i) {
      const int32_t label = predictions.labels[i];
      if (label >= 0) keys.push_back(auc_key(predictions.probabilities[i * classes + c], label == c));
    }
    sort_keys(keys, scratch);
    sum += area(keys);
    ++counted;
  }
  return counted == 0 ? undefined : sum / static_cast<double>(counted);
}

double macro_f1(const Predictions& predictions) {
  const int64_t classes = predictions.class_count();
  const std::vector<int64_t> counts = confusion_matrix(predictions);
  double sum = 0;
  int64_t present = 0;
  for (int64_t c = 0; c < classes; ++c) {
    int64_t truly = 0, predicted = 0;
    for (int64_t other = 0; other < classes; ++other) {
      truly += counts[c * classes + other];
      predicted += counts[other * classes + c];
    }
    if (truly + predicted == 0) continue;
    sum += 2.0 * static_cast<double>(counts[c * classes + c]) / static_cast<double>(truly + predicted);
    ++present;
  }
  return present == 0 ? undefined : sum / static_cast<double>(present);
}

std::vector<int64_t> confusion_matrix(const Predictions& predictions) {
  const int64_t classes = predictions.class_count();
  std::vector<int64_t> counts(classes * classes, 0);
  for (int64_t i = 0; i < predictions.size(); ++i) {
    const int32_t label = predictions.labels[i];
    if (label >= 0) ++counts[label * classes + top_class(predictions.row(i))];
  }
  return counts;
}

}  // namespace l0gm
