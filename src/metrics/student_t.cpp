#include "metrics/student_t.h"

#include <cmath>
#include <limits>
#include <stdexcept>

namespace l0gm {
namespace {

constexpr double undefined = std::numeric_limits<double>::quiet_NaN();

// The regularised incomplete beta function by its continued fraction (Lentz), for x below (a + 1) / (a + b + 2).
double beta_fraction(double a, double b, double x) {
  constexpr double tiny = 1e-300;
  const auto kept = [](double value) { return std::abs(value) < tiny ? tiny : value; };
  double c = 1, d = 1 / kept(1 - (a + b) * x / (a + 1)), product = d;
  for (int m = 1; m < 1000; ++m) {
    for (const double term :
         {m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)), -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))}) {
      d = 1 / kept(1 + term * d);
      c = kept(1 + term / c);
      product *= c * d;
    }
    if (std::abs(c * d - 1) < 1e-15) break;
  }
  return product;
}

double incomplete_beta(double a, double b, double x) {
  if (x <= 0) return 0;
  if (x >= 1) return 1;
  const double front = std::exp(std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) + a * std::log(x) + b * std::log1p(-x));
  if (x < (a + 1) / (a + b + 2)) return front * beta_fraction(a, b, x) / a;
  return 1 - front * beta_fraction(b, a, 1 - x) / b;
}

double share_below(double t, double degrees) {
  const double tail = incomplete_beta(degrees / 2, 0.5, degrees / (degrees + t * t)) / 2;
  return t < 0 ? tail : 1 - tail;
}

MeanInterval interval_of(std::span<const double> figures, double variance_factor) {
  MeanInterval out{undefined, undefined, undefined, undefined};
  const auto n = static_cast<double>(figures.size());
  if (figures.empty()) return out;
  double sum = 0, squares = 0;
  for (const double figure : figures) sum += figure;
  out.mean = sum / n;
  if (figures.size() < 2) return out;
  for (const double figure : figures) squares += (figure - out.mean) * (figure - out.mean);
  out.deviation = std::sqrt(squares / (n - 1));
  const double half = student_t_quantile(0.975, n - 1) * out.deviation * std::sqrt(variance_factor);
  out.low = out.mean - half;
  out.high = out.mean + half;
  return out;
}

}  // namespace

double student_t_quantile(double share, double degrees_of_freedom) {
  if (!(share > 0 && share < 1 && degrees_of_freedom > 0))
    throw std::invalid_argument("student_t_quantile: share inside 0 and 1, degrees above 0");
  double low = -1, high = 1;
  while (share_below(low, degrees_of_freedom) > share) low *= 2;
  while (share_below(high, degrees_of_freedom) < share) high *= 2;
  for (int step = 0; step < 200 && low < high; ++step) {
    const double middle = (low + high) / 2;
    if (middle == low || middle == high) break;
    (share_below(middle, degrees_of_freedom) < share ? low : high) = middle;
  }
  return (low + high) / 2;
}

MeanInterval seed_interval(std::span<const double> figures) {
  return interval_of(figures, 1 / static_cast<double>(figures.size()));
}

MeanInterval cross_validation_interval(std::span<const double> figures, double held_out, double trained) {
  return interval_of(figures, 1 / static_cast<double>(figures.size()) + held_out / trained);
}

}  // namespace l0gm
