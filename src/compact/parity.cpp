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
  nlohmann::json json = {{"float64", algebra},           {"float64_limit", algebra_limit},
                         {"float32", numerics},          {"float32_limit", numerics_limit()},
                         {"trained_float32", own_error}, {"rows", rows}};
  if (folded_numerics) json["float32_folded"] = *folded_numerics;
  return json;
}

std::string difference_message(const Compaction& compaction, const std::vector<double>& found, const std::vector<double>& wanted,
                               const Worst& worst, double limit, const std::string& what, const std::string& remedy) {
  const size_t classes = compaction.classes().size();
  const auto row = static_cast<int64_t>(worst.place / classes);
  const Compaction::Checked& checked = compaction.checked();
  return fmt::format(
      "the compact model is not the trained one ({}): at {} P({}) is {} where the trained model says {}, a difference of "
      "{:.3g}; allowed are {:.3g}.{} Nothing was written.{}",
      what, checked.where(row), compaction.classes()[worst.place % classes], found[worst.place], wanted[worst.place],
      worst.difference, limit, remedy, checked.what ? " The row: " + checked.what(row) : "");
}

std::string way_out(const Parity& parity) {
  const std::string forms = parity.folded_numerics ? fmt::format(" This is the unfolded form; folded, the file was {:.3g} away.",
                                                                 *parity.folded_numerics)
                                                   : "";
  return fmt::format(
      " That is the larger of {:.3g} and four times what the trained model itself loses in float32, {:.3g}.{} `l0gm "
      "predict` reads the run's folder in place of a file, through LibTorch, and predicts what was trained. For a file, train "
      "again: large weights lose most to rounding, and a lower train.lr or more train.weight_decay keeps them small.",
      parity.least_limit, parity.own_error, forms);
}

double require_parity(const Compaction& compaction, const std::vector<double>& found, const std::vector<double>& wanted,
                      double limit, const char* what) {
  if (found.size() != wanted.size()) throw std::logic_error("require_parity: two models speak of different rows");
  const Worst worst = largest_difference(found, wanted);
  if (worst.difference <= limit) return std::max(0.0, worst.difference);
  throw std::runtime_error(difference_message(compaction, found, wanted, worst, limit, what, ""));
}

}  // namespace l0gm
