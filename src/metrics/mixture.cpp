#include "metrics/mixture.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace l0gm {
namespace {

constexpr double least_probability = 1e-15, errors_to_gain = 0.5;
constexpr int halvings = 40;

// Of labelled rows: what both models say of the label.
struct Pairs {
  std::vector<double> first, second, weights;
};

double slope_at(const Pairs& pairs, double share) {
  double slope = 0;
  for (size_t i = 0; i < pairs.first.size(); ++i) {
    const double difference = pairs.second[i] - pairs.first[i];
    slope -= pairs.weights[i] * difference / std::max(pairs.first[i] + share * difference, least_probability);
  }
  return slope;
}

struct Gain {
  double sum = 0, errors = 0;  // in standard errors
};

// By how much the share lowers the loss.
Gain gain_of(const Pairs& pairs, double share) {
  double sum = 0, squares = 0;
  for (size_t i = 0; i < pairs.first.size(); ++i) {
    const double both = mixed(pairs.first[i], pairs.second[i], share);
    const double gain =
        pairs.weights[i] * std::log(std::max(both, least_probability) / std::max(pairs.first[i], least_probability));
    sum += gain;
    squares += gain * gain;
  }
  const auto count = static_cast<double>(pairs.first.size());
  const double variance = squares - sum * sum / count;
  return {sum, variance > 0 ? sum / std::sqrt(variance) : 0};
}

}  // namespace

void mix_in(const std::vector<double>& second, double share, std::vector<double>& probabilities) {
  if (second.size() != probabilities.size()) throw std::logic_error("mix_in: the two models have other rows or classes");
  for (size_t i = 0; i < second.size(); ++i) probabilities[i] = mixed(probabilities[i], second[i], share);
}

Mixture best_mixture(const Predictions& first, const std::vector<double>& second, const std::vector<double>& weights) {
  if (second.size() != first.probabilities.size())
    throw std::logic_error("best_mixture: the two models have other rows or classes");
  const size_t classes = first.classes.size();
  Pairs pairs;
  for (size_t i = 0; i < first.labels.size(); ++i) {
    if (first.labels[i] < 0) continue;
    const size_t place = i * classes + static_cast<size_t>(first.labels[i]);
    pairs.first.push_back(first.probabilities[place]);
    pairs.second.push_back(second[place]);
    pairs.weights.push_back(weights.empty() ? 1 : weights[i]);
  }
  if (pairs.first.size() < 2 || slope_at(pairs, 0) >= 0) return {};
  double low = 0, high = 1;  // the loss is convex in the share
  for (int i = 0; i < halvings; ++i) {
    const double middle = (low + high) / 2;
    (slope_at(pairs, middle) < 0 ? low : high) = middle;
  }
  const double share = (low + high) / 2;
  const Gain gain = gain_of(pairs, share);
  return gain.errors < errors_to_gain ? Mixture{} : Mixture{share, gain.sum};
}

}  // namespace l0gm
