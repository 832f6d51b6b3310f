#pragma once

#include <filesystem>

#include "base/text_table.h"
#include "compact/table/fold.h"
#include "training/table/table_run.h"

namespace l0gm {

// The largest absolute difference of any class probability, over all rows that were tried.
struct Parity {
  double algebra = 0;    // compact against trained model, both in float64: what folding did
  double numerics = 0;   // the file, served in float32, against the trained model in float64
  double own_error = 0;  // the trained model in float32 against itself in float64
  int64_t rows = 0;
  double numerics_limit() const;
};
constexpr double algebra_limit = 1e-9;
constexpr double least_numerics_limit = 2e-6;

// Where two lists of numbers differ most; not a number is the largest difference of all.
struct Worst {
  double difference = -1;
  size_t place = 0;
};
Worst largest_difference(const std::vector<double>& a, const std::vector<double>& b);

// Some rows of a table, by number; names are for messages: "validation row 17".
struct ParityRows {
  std::string name;
  const TextTable& table;
  std::vector<int64_t> rows;
};

// What a trained model says of rows of text, in both precisions.
struct TrainedModel {
  LoadedTable single, exact;  // the same run twice, in float32 and in float64
  explicit TrainedModel(const std::filesystem::path& run);
  std::vector<double> probabilities(const ParityRows& rows, bool exactly);
};

// Adds the rows to `parity`; throws when a bound is broken, naming the worst row, its cells and both probabilities.
void check_algebra(TrainedModel& trained, const FoldedModel& folded, const ParityRows& rows, Parity& parity);
// `file`: float32 weights, as it was written.
void check_numerics(TrainedModel& trained, const std::filesystem::path& file, const ParityRows& rows, Parity& parity);

// What a compact file says of rows of text, [rows, classes].
std::vector<double> served_probabilities(const std::filesystem::path& file, const ParityRows& rows);

}  // namespace l0gm
