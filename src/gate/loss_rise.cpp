#include "gate/loss_rise.h"

#include <algorithm>
#include <cmath>

namespace l0gm {

namespace {

constexpr double least_scale = 0.25;          // of the trained examples' rises: what is learned by heart seems to be worth more
constexpr double normal_deviations = 1.4826;  // of a normal distribution, in medians of its absolute values
constexpr size_t fewest_to_compare = 3;       // changes: fewer do not tell how well both kinds of examples agree

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

double square(double x) { return x * x; }

LossRise paired(const std::vector<double>& changed, const std::vector<double>& as_is) {
  const auto count = static_cast<double>(as_is.size());
  double sum = 0, squares = 0;
  for (size_t i = 0; i < as_is.size(); ++i) sum += changed[i] - as_is[i];
  const double mean = sum / count;
  for (size_t i = 0; i < as_is.size(); ++i) squares += square(changed[i] - as_is[i] - mean);
  return {mean, std::sqrt(squares / std::max(1.0, count - 1) / count)};
}

// The rise of fresh examples for one of trained ones: the median over changes of which the trained ones are certain.
double scale_of(const std::vector<LossRise>& fresh, const std::vector<LossRise>& trained) {
  std::vector<double> ratios;
  for (size_t i = 0; i < fresh.size(); ++i) {
    if (trained[i].rise > 2 * trained[i].error) ratios.push_back(fresh[i].rise / trained[i].rise);
  }
  return ratios.size() < fewest_to_compare ? 1 : std::clamp(median(std::move(ratios)), least_scale, 1.0);
}

}  // namespace

std::vector<LossRise> rises_of(const std::vector<MeasuredLosses>& changed, const MeasuredLosses& as_is) {
  std::vector<LossRise> fresh, trained;
  for (const MeasuredLosses& losses : changed) fresh.push_back(paired(losses.fresh, as_is.fresh));
  if (as_is.trained.empty() || changed.size() < fewest_to_compare) return fresh;
  for (const MeasuredLosses& losses : changed) trained.push_back(paired(losses.trained, as_is.trained));
  const double scale = scale_of(fresh, trained);
  std::vector<double> distances, noise;
  for (size_t i = 0; i < fresh.size(); ++i) {
    trained[i] = {scale * trained[i].rise, scale * trained[i].error};
    distances.push_back(std::abs(fresh[i].rise - trained[i].rise));
    noise.push_back(square(fresh[i].error) + square(trained[i].error));
  }
  const double disagreement = std::max(0.0, square(normal_deviations * median(distances)) - median(noise));
  std::vector<LossRise> both;
  for (size_t i = 0; i < fresh.size(); ++i) {
    const double own = std::max(disagreement, square(distances[i]) - noise[i]);
    const double of_fresh = 1 / std::max(square(fresh[i].error), 1e-30),
                 of_trained = 1 / std::max(square(trained[i].error) + own, 1e-30);
    both.push_back({(of_fresh * fresh[i].rise + of_trained * trained[i].rise) / (of_fresh + of_trained),
                    1 / std::sqrt(of_fresh + of_trained)});
  }
  return both;
}

}  // namespace l0gm
