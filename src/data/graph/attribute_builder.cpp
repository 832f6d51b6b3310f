#include "data/graph/attribute_builder.h"

#include <algorithm>

namespace l0gm {
namespace {

constexpr int64_t rows_to_decide = 1024;

}  // namespace

void AttributeBuilder::add(std::span<const float> row) {
  width_ = static_cast<int64_t>(row.size());
  int64_t count = offsets_.back();
  for (size_t column = 0; column < row.size(); ++column) {
    if (row[column] == 0) continue;
    count += 1;
    if (is_dense_) continue;
    columns_.push_back(static_cast<int32_t>(column));
    values_.push_back(row[column]);
  }
  if (is_dense_) dense_.insert(dense_.end(), row.begin(), row.end());
  offsets_.push_back(count);
  if (!is_dense_ && rows() == rows_to_decide && !is_sparse(count)) make_dense();
}

void AttributeBuilder::make_dense() {
  dense_.assign(static_cast<size_t>(rows() * width_), 0.F);
  for (int64_t row = 0; row < rows(); ++row) {
    for (auto i = static_cast<size_t>(offsets_[static_cast<size_t>(row)]);
         i < static_cast<size_t>(offsets_[static_cast<size_t>(row) + 1]); ++i) {
      dense_[static_cast<size_t>(row * width_ + columns_[i])] = values_[i];
    }
  }
  columns_ = {};
  values_ = {};
  is_dense_ = true;
}

void AttributeBuilder::make_sparse() {
  columns_.reserve(static_cast<size_t>(offsets_.back()));
  values_.reserve(static_cast<size_t>(offsets_.back()));
  for (size_t i = 0; i < dense_.size(); ++i) {
    if (dense_[i] == 0) continue;
    columns_.push_back(static_cast<int32_t>(i % static_cast<size_t>(width_)));
    values_.push_back(dense_[i]);
  }
  dense_ = {};
  is_dense_ = false;
}

void AttributeBuilder::finish(Graph& graph) {
  const bool sparse = is_sparse(offsets_.back());
  if (sparse && is_dense_) make_sparse();
  if (!sparse && !is_dense_) make_dense();
  graph.attributes = width_;
  graph.dense = std::move(dense_);
  graph.sparse = sparse ? SparseRows{std::move(offsets_), std::move(columns_), std::move(values_)} : SparseRows{};
  *this = {};
}

void set_attributes(Graph& graph, std::vector<float> dense, int64_t width) {
  const auto values = static_cast<int64_t>(std::count_if(dense.begin(), dense.end(), [](float value) { return value != 0; }));
  if (values * 4 >= static_cast<int64_t>(dense.size())) {
    graph.attributes = width;
    graph.dense = std::move(dense);
    graph.sparse = {};
    return;
  }
  AttributeBuilder builder;
  for (size_t i = 0; i < dense.size(); i += static_cast<size_t>(width))
    builder.add({dense.data() + i, static_cast<size_t>(width)});
  builder.finish(graph);
}

}  // namespace l0gm
