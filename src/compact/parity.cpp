#include "compact/parity.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace l0gm {

Worst largest_difference(const std::vector<double>& a, const std::vector<double>& b) {
  Worst worst;
  for (size_t i = 0; i < a.size(); ++i) {
    const double difference = std::abs(a[i] - b[i]);
    if (difference > worst.difference || std::isnan(difference)) worst = {difference, i};
    if (std::isnan(difference)) break;
  }
  return worst;
}

// Folding adds other roundings, no fewer: four times what the model's own are leaves it room.
double Parity::numerics_limit() const { return std::max(least_limit, 4 * own_error); }

nlohmann::json Parity::to_json() const {
  return {{"float64", algebra},           {"float64_limit", algebra_limit},
          {"float32", numerics},          {"float32_limit", numerics_limit()},
          {"trained_float32", own_error}, {"rows", rows}};
}

double require_parity(const Compaction& compaction, const std::vector<double>& found, const std::vector<double>& wanted,
                      double limit, const char* what) {
  if (found.size() != wanted.size()) throw std::logic_error("require_parity: two models speak of different rows");
  const Worst worst = largest_difference(found, wanted);
  if (worst.difference <= limit) return std::max(0.0, worst.difference);
  const size_t classes = compaction.classes().size();
  const auto row = static_cast<int64_t>(worst.place / classes);
  const Compaction::Checked& checked = compaction.checked();
  const std::string cells = checked.what ? " The row: " + checked.what(row) : "";
  throw std::runtime_error(
      fmt::format("the compact model is not the trained one ({}): at {} P({}) is {} where the trained model says {}, a "
                  "difference of {:.3g}; allowed are "
                  "{:.3g}. Nothing was written.{}",
                  what, checked.where(row), compaction.classes()[worst.place % classes], found[worst.place], wanted[worst.place],
                  worst.difference, limit, cells));
}

}  // namespace l0gm
