#pragma once

#include <cstdint>
#include <vector>

#include "encode/table/key_part.h"

namespace l0gm {

// What a split reads: a cut of a numeric column, a field of categories, or a statistic.
struct TreeInput {
  KeyPart part;
  std::vector<float> edges;  // of a statistic: its code is how many of them are at most its slope; else empty
  bool is_statistic() const { return !edges.empty(); }
  bool is_category() const { return part.field >= 0 && !is_statistic(); }
};

// Boosted trees over the codes of a row, beside a net: for each class log odds, where the trees begin and what the row's leaves
// add. All splits of one level of a tree are the same, so that a leaf is a number of `depth` bits.
struct TreeScores {
  std::vector<TreeInput> inputs;
  int64_t depth = 0;         // of every tree
  int64_t outputs = 0;       // log odds: two classes one, of class 1; more classes one each
  double share = 0;          // of the probabilities: (1 - share) of the net's, share of the trees'
  std::vector<float> start;  // per output
  // trees x depth x (input, code): whether the code of a cut or a statistic is above `code`, whether that of a field is `code`.
  // -1 as the code of a field, or the largest of the others: nothing is, the level is not used.
  std::vector<int32_t> splits;
  std::vector<float> leaves;  // trees x 2^depth x outputs

  bool empty() const { return inputs.empty(); }
  int64_t trees() const { return depth == 0 ? 0 : static_cast<int64_t>(splits.size()) / (2 * depth); }
  int64_t leaf_values() const { return (int64_t{1} << depth) * outputs; }  // of one tree
};

inline constexpr int64_t most_tree_depth = 10, most_tree_outputs = 20, most_trees = 10000, most_edges_of_statistic = 254;

}  // namespace l0gm
