#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/text_table.h"
#include "data/table/boosted_trees.h"
#include "data/table/encoded.h"
#include "data/table/grown_trees.h"

namespace l0gm {

// Of a schema's columns: whether trees may read it.
using ColumnMask = std::vector<uint8_t>;

// What trees may read; empty: everything. A statistic is read where all its columns may be.
struct TreeChoice {
  ColumnMask columns;
  std::vector<uint8_t> statistics;  // of the schema's fields of statistics
};

// Trees, and what they say of validation rows.
struct TreeGrowth {
  GrownTrees grown;
  std::vector<float> valid_log_odds;  // rows, in the order of TreeGrower::valid_rows(), x outputs
};

// Boosts trees over columns of training rows, as many as lower the loss of validation rows. Rows are read once, when this is
// made; then trees can be grown over all columns or over some, and over target statistics of them.
//   const TreeGrower grower(schema, texts, train, valid);
//   if (const auto found = grower.grow()) attach_trees(schema, found->grown);
// Nothing depends on the order of rows, nor on threads.
class TreeGrower {
 public:
  // `weights`: by row number; empty: each row counts the same. `with_statistics`: the training rows, encoded, their statistics
  // out of fold; without it trees read none.
  TreeGrower(const Schema& schema, const TextTable& texts, const std::vector<int64_t>& train, const std::vector<int64_t>& valid,
             const std::vector<double>& weights = {}, const EncodedTable* with_statistics = nullptr);

  // Whoever raises the flag wants no result any more: what grows then ends within a tree or two, and its result does not count.
  // The flag must outlive this.
  void end_early_when(const std::atomic<bool>& stop) { stop_ = &stop; }
  bool ends_early() const { return stop_ != nullptr && *stop_; }

  // Whether enough trees over so many columns can be grown in bounded time.
  static bool end_in_time(int64_t rows, int64_t columns, int64_t outputs);

  // Whether there are columns to split, and neither too few rows nor too many classes.
  bool can_grow() const { return can_grow_; }
  // Nothing if trees tell no more than the shares of classes, or would take minutes.
  std::optional<TreeGrowth> grow(const TreeChoice& choice = {}) const;
  // The log loss of each validation row under trees over these columns, without statistics.
  std::vector<double> valid_losses(const ColumnMask& columns) const;
  // Of validation rows, in the order of valid_rows(); empty: each counts the same.
  std::vector<float> valid_weights() const;
  // Columns of more categories than splits can ask for: trees do not see all that these tell.
  bool is_coarse(size_t column) const { return coarse_[column] != 0; }
  // Columns that trees can read.
  bool is_read(size_t column) const { return read_[column] != 0; }

  const TreeRows& rows() const { return rows_; }  // training rows, then validation rows, each by rising number
  int64_t training_rows() const { return training_rows_; }
  const std::vector<int64_t>& valid_rows() const { return valid_; }
  std::vector<uint32_t> inputs_of(const ColumnMask& columns) const;  // no statistics

 private:
  struct Input {
    TreeInput input;
    std::vector<int64_t> columns;
    int64_t statistic = -1;  // among the schema's fields of statistics
  };
  struct Best;
  void add_columns(const EncodedTable& encoded, const TextTable& texts);
  void add_statistics(const Schema& schema, const TextTable& texts, const EncodedTable& train);
  std::vector<uint32_t> inputs_of(const TreeChoice& choice) const;
  Best grow_best(Boosting& boosting, int64_t most) const;

  Schema schema_;  // with a cut for each numeric column
  std::vector<Input> inputs_;
  ColumnMask coarse_, read_;
  TreeRows rows_;
  int64_t training_rows_ = 0;
  std::vector<int64_t> valid_;
  bool can_grow_ = false;
  const std::atomic<bool>* stop_ = nullptr;
};

}  // namespace l0gm
