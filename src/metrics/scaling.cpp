#include "metrics/scaling.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "metrics/scores.h"

namespace l0gm {
namespace {

// Per labelled row and class, how far the class lies below the top one: log p_top - log p_c >= 0.
struct Depths {
  std::vector<double> depth;
  std::vector<int32_t> labels;
  int64_t classes = 0;
};

Depths depths_of(const Predictions& predictions) {
  Depths out;
  out.classes = predictions.class_count();
  for (int64_t i = 0; i < predictions.size(); ++i) {
    if (predictions.labels[i] < 0) continue;
    out.labels.push_back(predictions.labels[i]);
    const auto row = predictions.row(i);
    const double top = std::log(std::max(row[top_class(row)], smallest_probability));
    for (const double p : row) out.depth.push_back(std::max(0.0, top - std::log(std::max(p, smallest_probability))));
  }
  return out;
}

// First and second derivative of the mean NLL of softmax(-beta * depth) with respect to beta.
struct Slope {
  double first = 0, second = 0;
};

Slope slope_at(const Depths& data, double beta) {
  Slope out;
  const double n = static_cast<double>(data.labels.size());
  for (size_t i = 0; i < data.labels.size(); ++i) {
    const double* depth = data.depth.data() + i * data.classes;
    double total = 0, mean = 0, square = 0;
    for (int64_t c = 0; c < data.classes; ++c) {
      const double weight = std::exp(-beta * depth[c]);  // the top class has weight 1: the total never vanishes
      total += weight;
      mean += weight * depth[c];
      square += weight * depth[c] * depth[c];
    }
    mean /= total;
    out.first += depth[data.labels[i]] - mean;
    out.second += std::max(0.0, square / total - mean * mean);
  }
  return {out.first / n, out.second / n};
}

// Newton's method on the slope, kept inside a bracket that always holds the root.
double best_beta(const Depths& data) {
  double low = 1 / highest_temperature, high = 1 / lowest_temperature;
  if (std::all_of(data.depth.begin(), data.depth.end(), [](double depth) { return depth == 0; })) return 1;
  if (slope_at(data, low).first >= 0) return low;
  if (slope_at(data, high).first <= 0) return high;
  double beta = 1;
  for (int iteration = 0; iteration < 200; ++iteration) {
    const Slope slope = slope_at(data, beta);
    (slope.first < 0 ? low : high) = beta;
    double next = beta - slope.first / slope.second;
    if (!(next > low && next < high)) next = std::sqrt(low * high);
    const double moved = std::abs(next - beta);
    beta = next;
    if (moved <= 1e-13 * beta) break;
  }
  return beta;
}

// Mean NLL as a function of (log scale, log exponent), with gradient and Fisher matrix.
struct PowerPoint {
  double u = 0, v = 0;
  double value = 0;
  double gradient_u = 0, gradient_v = 0;
  double uu = 0, uv = 0, vv = 0;
};

PowerPoint power_at(const Depths& data, const std::vector<double>& log_depth, double u, double v) {
  PowerPoint out{.u = u, .v = v};
  const double scale = std::exp(u), exponent = std::exp(v);
  std::vector<double> by_u(data.classes), by_v(data.classes), weight(data.classes);
  for (size_t i = 0; i < data.labels.size(); ++i) {
    double total = 0, mean_u = 0, mean_v = 0, square_u = 0, square_v = 0, product = 0;
    for (int64_t c = 0; c < data.classes; ++c) {
      const size_t k = i * data.classes + c;
      const bool level = data.depth[k] == 0;  // its logarithm is -inf, its contribution to every derivative 0
      by_u[c] = level ? 0 : -scale * std::exp(exponent * log_depth[k]);
      by_v[c] = level ? 0 : by_u[c] * exponent * log_depth[k];
      weight[c] = std::exp(by_u[c]);
      total += weight[c];
      mean_u += weight[c] * by_u[c];
      mean_v += weight[c] * by_v[c];
      square_u += weight[c] * by_u[c] * by_u[c];
      square_v += weight[c] * by_v[c] * by_v[c];
      product += weight[c] * by_u[c] * by_v[c];
    }
    mean_u /= total;
    mean_v /= total;
    const int32_t label = data.labels[i];
    out.value += std::log(total) - by_u[label];
    out.gradient_u += mean_u - by_u[label];
    out.gradient_v += mean_v - by_v[label];
    out.uu += square_u / total - mean_u * mean_u;
    out.uv += product / total - mean_u * mean_v;
    out.vv += square_v / total - mean_v * mean_v;
  }
  const double n = static_cast<double>(data.labels.size());
  for (double* sum : {&out.value, &out.gradient_u, &out.gradient_v, &out.uu, &out.uv, &out.vv}) *sum /= n;
  return out;
}

// A damped Fisher step, clamped to the bounds.
std::pair<double, double> damped_step(const PowerPoint& at, double damping) {
  const double uu = at.uu * (1 + damping) + 1e-300, vv = at.vv * (1 + damping) + 1e-300;
  const double determinant = std::max(uu * vv - at.uv * at.uv, 1e-300);
  const double step_u = (vv * at.gradient_u - at.uv * at.gradient_v) / determinant;
  const double step_v = (uu * at.gradient_v - at.uv * at.gradient_u) / determinant;
  return {std::clamp(at.u - step_u, std::log(lowest_power_scale), std::log(highest_power_scale)),
          std::clamp(at.v - step_v, std::log(lowest_power_exponent), std::log(highest_power_exponent))};
}

}  // namespace

double fit_temperature(const Predictions& predictions) { return 1 / best_beta(depths_of(predictions)); }

PowerScaling fit_power(const Predictions& predictions) {
  const Depths data = depths_of(predictions);
  std::vector<double> log_depth(data.depth.size());
  std::transform(data.depth.begin(), data.depth.end(), log_depth.begin(), [](double depth) { return std::log(depth); });
  PowerPoint best = power_at(data, log_depth, std::log(best_beta(data)), 0);
  double damping = 1e-3;
  for (int iteration = 0; iteration < 300 && damping < 1e10; ++iteration) {
    const auto [u, v] = damped_step(best, damping);
    if (std::abs(u - best.u) + std::abs(v - best.v) < 1e-11) break;
    const PowerPoint next = power_at(data, log_depth, u, v);
    if (next.value < best.value) {
      best = next;
      damping = std::max(damping / 10, 1e-9);
    } else {
      damping *= 10;
    }
  }
  return {std::exp(best.u), std::exp(best.v)};
}

}  // namespace l0gm
