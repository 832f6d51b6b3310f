#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "base/random.h"
#include "metrics/predictions.h"

namespace l0gm::testing_tools {

inline Predictions make_predictions(std::vector<int32_t> labels, std::vector<std::vector<double>> probabilities) {
  Predictions out;
  for (size_t c = 0; c < probabilities.front().size(); ++c) out.classes.push_back("c" + std::to_string(c));
  for (size_t i = 0; i < labels.size(); ++i) {
    out.rows.push_back(static_cast<int64_t>(i));
    out.labels.push_back(labels[i]);
    out.probabilities.insert(out.probabilities.end(), probabilities[i].begin(), probabilities[i].end());
  }
  return out;
}

inline Predictions binary(std::vector<int32_t> labels, const std::vector<double>& positive) {
  std::vector<std::vector<double>> probabilities;
  for (const double p : positive) probabilities.push_back({1 - p, p});
  return make_predictions(std::move(labels), probabilities);
}

// A perfectly calibrated model: probabilities are softmax of normals times `spread`, labels are drawn from them.
inline Predictions calibrated_model(int64_t rows, int classes, double spread, uint64_t seed) {
  RandomStream random(seed);
  Predictions out;
  for (int c = 0; c < classes; ++c) out.classes.push_back("c" + std::to_string(c));
  for (int64_t i = 0; i < rows; ++i) {
    std::vector<double> p;
    double total = 0;
    for (int c = 0; c < classes; ++c) total += p.emplace_back(std::exp(spread * random.normal()));
    double left = random.uniform() * total;
    int32_t label = 0;
    while (label < classes - 1 && left > p[label]) left -= p[label++];
    out.rows.push_back(i);
    out.labels.push_back(label);
    for (const double weight : p) out.probabilities.push_back(weight / total);
  }
  return out;
}

// The same model, with every logit multiplied: overconfident above 1, underconfident below.
inline Predictions sharpened(Predictions predictions, double by) {
  const int64_t classes = predictions.class_count();
  for (int64_t i = 0; i < predictions.size(); ++i) {
    double total = 0;
    for (int64_t c = 0; c < classes; ++c) {
      double& p = predictions.probabilities[i * classes + c];
      p = std::pow(p, by);
      total += p;
    }
    for (int64_t c = 0; c < classes; ++c) predictions.probabilities[i * classes + c] /= total;
  }
  return predictions;
}

}  // namespace l0gm::testing_tools
