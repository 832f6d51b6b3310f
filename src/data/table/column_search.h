#pragma once

#include <map>
#include <optional>
#include <vector>

#include "data/table/tree_grower.h"

namespace l0gm {

// Which columns tell most of the label together. Sets of one size are judged by small boosted trees that are grown on these
// columns alone, on training rows that those trees have not seen; from all columns downwards, from none upwards, and by
// exchanging one for another. What a column adds to others is not seen where each is judged by itself, or by what a model that
// knows all of them loses without it.
//   ColumnSearch search(grower, 4);
//   const ColumnMask found = search.improved(start);
class ColumnSearch {
 public:
  // `size`: columns of a set. The grower must outlive this.
  ColumnSearch(const TreeGrower& grower, int64_t size);

  // The best set that was found, `start` among them. Columns that trees cannot read or see only roughly stay as in `start`; where
  // there are many columns, so do those that are open and tell most, and those that are closed and tell least.
  ColumnMask improved(const ColumnMask& start);

 private:
  void plan(const ColumnMask& start);
  std::vector<double> gains_of_columns(size_t columns) const;
  double loss(const ColumnMask& columns);  // mean log loss, cross-fitted
  std::vector<double> losses(const std::vector<ColumnMask>& sets);
  ColumnMask best_of(const std::vector<ColumnMask>& sets, double& least);
  ColumnMask downwards(const ColumnMask& start);
  ColumnMask upwards(const ColumnMask& start);
  ColumnMask exchanged(ColumnMask columns);

  const TreeGrower& grower_;
  int64_t size_;
  TreeRows rows_;                                       // some of the training rows
  std::vector<std::vector<uint32_t>> fitted_, judged_;  // by fold
  std::vector<size_t> candidates_;                      // columns that may change, the most telling first; often all
  std::map<ColumnMask, double> known_;
};

// A set of as many columns as are open that trees prefer, by training rows and then by validation rows, for more than half a
// standard error; nothing if none is, or if the grower ends early.
std::optional<ColumnMask> better_columns(const TreeGrower& grower, const ColumnMask& open);

}  // namespace l0gm
