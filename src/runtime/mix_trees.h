#pragma once

#include <array>
#include <cstdint>

#include "encode/table/tree_scores.h"
#include "metrics/mixture.h"
#include "runtime/probabilities.h"

namespace l0gm {

// Adds what trees say to the net's probabilities of a row, if there are trees. slopes_end: behind the last slope of the row,
// which ends with their log odds.
inline void mix_trees(const TreeScores& trees, const float* slopes_end, double* probabilities) {
  if (trees.empty()) return;
  std::array<double, most_tree_outputs> of_trees{};
  mean_probabilities(slopes_end - trees.outputs, 1, trees.outputs, of_trees.data());
  const int64_t classes = trees.outputs == 1 ? 2 : trees.outputs;
  for (int64_t c = 0; c < classes; ++c) probabilities[c] = mixed(probabilities[c], of_trees[static_cast<size_t>(c)], trees.share);
}

}  // namespace l0gm
