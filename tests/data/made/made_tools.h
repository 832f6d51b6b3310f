#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/text.h"
#include "data/table/table_dataset.h"

// Checks made tables by their cells, labels and true probabilities.
namespace l0gm::made_tools {

struct Mean {
  double value = 0, error = 0;  // standard error
  int64_t rows = 0;
  bool agrees(double wanted, double errors) const { return std::abs(value - wanted) < errors * error; }
};
inline Mean mean_of(const std::vector<double>& values) {
  const auto rows = static_cast<double>(values.size());
  double sum = 0, squares = 0;
  for (const double value : values) sum += value;
  for (const double value : values) squares += (value - sum / rows) * (value - sum / rows);
  return {sum / rows, std::sqrt(squares / rows / rows), static_cast<int64_t>(values.size())};
}

template <class Key, class KeyOf>
std::map<Key, std::vector<double>> grouped(const std::vector<double>& values, KeyOf key_of) {
  std::map<Key, std::vector<double>> groups;
  for (size_t i = 0; i < values.size(); ++i) groups[key_of(static_cast<int64_t>(i))].push_back(values[i]);
  return groups;
}

// Sum of squared deviations of the groups' means from the whole mean, in standard errors: about the number of groups where the
// key says nothing.
template <class Key, class KeyOf>
double chi_square(const std::vector<double>& values, KeyOf key_of) {
  const double whole = mean_of(values).value;
  double sum = 0;
  for (const auto& [key, group] : grouped<Key>(values, key_of)) {
    const Mean mean = mean_of(group);
    if (mean.rows >= 50) sum += std::pow((mean.value - whole) / mean.error, 2);
  }
  return sum;
}

inline std::vector<double> labels(const TableDataset& data, const std::string& positive) {
  std::vector<double> found;
  for (int64_t row = 0; row < data.table.rows(); ++row) found.push_back(data.table.cell(row, data.label) == positive ? 1 : 0);
  return found;
}

// Mann and Whitney's rank sum, probabilities being all different.
inline double ranked_auc(const std::vector<double>& scores, const std::vector<double>& labels) {
  std::vector<size_t> order(scores.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return scores[a] < scores[b]; });
  double ranks = 0, positives = 0;
  for (size_t i = 0; i < order.size(); ++i) {
    if (labels[order[i]] != 1) continue;
    ranks += static_cast<double>(i) + 1;
    positives += 1;
  }
  return (ranks - positives * (positives + 1) / 2) / (positives * (static_cast<double>(scores.size()) - positives));
}

inline Mean mean_loss(const std::vector<double>& probabilities, const std::vector<double>& labels) {
  std::vector<double> losses;
  for (size_t i = 0; i < labels.size(); ++i)
    losses.push_back(-std::log(labels[i] == 1 ? probabilities[i] : 1 - probabilities[i]));
  return mean_of(losses);
}

}  // namespace l0gm::made_tools
