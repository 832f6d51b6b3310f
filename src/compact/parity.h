#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "compact/compaction.h"

namespace l0gm {

// The largest absolute difference of any class probability, over all rows that were tried.
struct Parity {
  double algebra = 0;    // compact against trained model, both in float64: what folding did
  double numerics = 0;   // the file, served in float32, against the trained model in float64
  double own_error = 0;  // the trained model in float32 against itself in float64
  int64_t rows = 0;
  double least_limit = least_numerics_limit;  // of this kind of model: Compaction::least_limit
  std::optional<double> folded_numerics;      // of the file as it was folded first: too far, so that it is unfolded
  double numerics_limit() const;
  nlohmann::json to_json() const;
};
constexpr double algebra_limit = 1e-9;

// Where two lists of numbers differ most; not a number is the largest difference of all.
struct Worst {
  double difference = -1;
  size_t place = 0;
};
Worst largest_difference(const std::vector<double>& a, const std::vector<double>& b);

// Says where two lists are too far from each other: the worst row and both probabilities. `what`: was compared; `remedy`: what
// to do, sentences that follow a full stop.
std::string difference_message(const Compaction& compaction, const std::vector<double>& found, const std::vector<double>& wanted,
                               const Worst& worst, double limit, const std::string& what, const std::string& remedy);
// The remedy where the file in float32 is too far from the trained model, and has no closer form.
std::string way_out(const Parity& parity);

// The largest difference between what was found and what the trained model says; throws when it is beyond the limit, naming the
// worst row and both probabilities.
double require_parity(const Compaction& compaction, const std::vector<double>& found, const std::vector<double>& wanted,
                      double limit, const char* what);

}  // namespace l0gm
