#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace l0gm {

// How trees are grown.
struct BoostSettings {
  int64_t depth = 6;
  double rate = 0.05;       // what a tree adds of the step that would be best
  double smoothing = 3;     // second derivatives that every leaf has besides those of its rows
  double rows_share = 0.8;  // of the rows that each tree is grown on
  double inputs_share = 1;  // of the inputs that it may split
  bool in_threads = true;   // false where several are grown at once
};

// Rows as trees read them, in an order that their numbers decide.
struct TreeRows {
  std::vector<std::vector<uint8_t>> codes;  // by input, of each row
  std::vector<int32_t> sizes;               // codes that an input can have; a category's last one stands for all further ones
  std::vector<bool> is_category;            // a split asks for one code, not for all above it
  std::vector<int32_t> labels;
  std::vector<float> weights;  // empty: each counts the same
  int64_t classes = 2;
  int64_t rows() const { return static_cast<int64_t>(labels.size()); }
  int64_t outputs() const { return classes == 2 ? 1 : classes; }
};

// Gradient boosting of the log loss with trees whose levels each have one split. The same rows and key give the same trees.
class Boosting {
 public:
  // `fitted`: the rows that trees are grown on; the others only get scores. `inputs`: those that may be split, by rising number;
  // empty: all. `rows` must outlive this.
  Boosting(const TreeRows& rows, std::vector<uint32_t> fitted, const BoostSettings& settings, uint64_t key,
           const std::vector<uint32_t>& inputs = {});
  bool add_tree();  // false: no split tells anything any more
  int64_t trees() const { return trees_; }
  double loss(const std::vector<uint32_t>& of_rows) const;         // mean log loss
  double loss_of(uint32_t row, const float* log_odds) const;       // of its label, unweighted
  std::vector<float> log_odds(uint32_t row, int64_t trees) const;  // by the first ones
  const std::vector<double>& gains() const { return gains_; }      // of each input, summed over its splits
  const std::vector<float>& start() const { return start_; }       // log odds without trees
  // As in TreeScores.
  const std::vector<int32_t>& splits() const { return splits_; }
  const std::vector<float>& leaves() const { return leaves_; }

 private:
  struct Split {
    int32_t input = -1, code = -1;
    double gain = 0;
  };
  void draw_rows();
  void compute_gradients();
  Split best_split(int64_t level, const std::vector<uint32_t>& inputs) const;
  void gains_of(uint32_t input, int64_t level, std::vector<float>& sums, std::vector<double>& gains) const;
  double gain_of_leaves(int64_t level) const;
  size_t leaf_of(uint32_t row, int64_t tree) const;
  bool holds(int32_t input, int32_t code, uint32_t row) const;

  const TreeRows& rows_;
  std::vector<uint32_t> fitted_, drawn_;
  std::vector<bool> allowed_;  // inputs
  BoostSettings settings_;
  size_t outputs_;
  uint64_t key_;
  int64_t trees_ = 0;
  std::vector<float> start_;
  std::vector<float> log_odds_;   // rows x outputs
  std::vector<float> gradients_;  // drawn rows x outputs x (first, second derivative)
  std::vector<uint16_t> leaf_;    // of each drawn row in the tree that grows
  std::vector<int32_t> splits_;
  std::vector<float> leaves_;
  std::vector<double> gains_;
};

}  // namespace l0gm
