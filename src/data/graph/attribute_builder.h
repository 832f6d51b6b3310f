#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "data/graph/graph.h"

namespace l0gm {

// Collects attributes row by row and stores them sparse where less than a quarter of the values is not zero, else dense. The
// first 1024 rows decide how they are stored while collecting, so that peak memory is not much above the final size.
class AttributeBuilder {
 public:
  void add(std::span<const float> row);
  int64_t rows() const { return static_cast<int64_t>(offsets_.size()) - 1; }
  int64_t width() const { return width_; }
  void finish(Graph& graph);  // sets attributes and dense or sparse

 private:
  bool is_sparse(int64_t values) const { return values * 4 < rows() * width_; }
  void make_dense();
  void make_sparse();
  int64_t width_ = 0;
  bool is_dense_ = false;
  std::vector<int64_t> offsets_ = {0};  // counts values also while they are stored dense
  std::vector<int32_t> columns_;
  std::vector<float> values_, dense_;
};

// The same for a whole matrix [rows, width].
void set_attributes(Graph& graph, std::vector<float> dense, int64_t width);

}  // namespace l0gm
