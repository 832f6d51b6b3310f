#include "training/weighted_loss.h"

#include <numeric>

#include "gate/tensor_values.h"
#include "metrics/scores.h"

namespace l0gm {

double weighted_nll(const Task& task, const Predictions& predictions) {
  if (!task.class_weights.defined() && task.row_weights.empty()) return nll(predictions);
  const std::vector<double> losses = weighted_losses(task, predictions);
  if (losses.empty()) return nll(predictions);
  return std::accumulate(losses.begin(), losses.end(), 0.0) / static_cast<double>(losses.size());
}

std::vector<double> weighted_losses(const Task& task, const Predictions& predictions) {
  const std::vector<double>& of_row = task.row_weights;
  const std::vector<double> of_class = task.class_weights.defined()
                                           ? to_doubles(task.class_weights)
                                           : std::vector<double>(static_cast<size_t>(task.class_count()), 1.0);
  std::vector<double> losses;
  double weights = 0;
  for (int64_t row = 0; row < predictions.size(); ++row) {
    const int32_t label = predictions.labels[static_cast<size_t>(row)];
    if (label < 0) continue;
    double weight = of_class[static_cast<size_t>(label)];
    if (!of_row.empty()) weight *= of_row[static_cast<size_t>(predictions.rows[static_cast<size_t>(row)])];
    losses.push_back(weight * row_metric(predictions.row(row), label, RowMetric::nll));
    weights += weight;
  }
  if (!(weights > 0)) return {};
  for (double& loss : losses) loss *= static_cast<double>(losses.size()) / weights;
  return losses;
}

}  // namespace l0gm
