#include "data/graph/attributes.h"

namespace l0gm {

namespace {

SparseRows select_sparse(const Graph& graph, const std::vector<int64_t>& kept) {
  std::vector<int32_t> place(static_cast<size_t>(graph.attributes), -1);
  for (size_t i = 0; i < kept.size(); ++i) place[static_cast<size_t>(kept[i])] = static_cast<int32_t>(i);
  std::vector<int64_t> offsets = {0};
  std::vector<int32_t> columns;
  std::vector<float> values;
  for (int64_t node = 0; node < graph.nodes; ++node) {
    for (int64_t i = graph.sparse.offsets[node]; i < graph.sparse.offsets[node + 1]; ++i) {
      const int32_t column = place[static_cast<size_t>(graph.sparse.columns[i])];
      if (column < 0) continue;
      columns.push_back(column);
      values.push_back(graph.sparse.values[i]);
    }
    offsets.push_back(static_cast<int64_t>(columns.size()));
  }
  return {std::move(offsets), std::move(columns), std::move(values)};
}

std::vector<float> select_dense(const Graph& graph, const std::vector<int64_t>& kept) {
  std::vector<float> values;
  values.reserve(static_cast<size_t>(graph.nodes) * kept.size());
  for (int64_t node = 0; node < graph.nodes; ++node) {
    for (const int64_t attribute : kept) values.push_back(graph.dense[node * graph.attributes + attribute]);
  }
  return values;
}

}  // namespace

Graph select_attributes(const Graph& graph, const std::vector<int64_t>& kept) {
  Graph result = graph;
  result.attributes = static_cast<int64_t>(kept.size());
  if (graph.is_sparse())
    result.sparse = select_sparse(graph, kept);
  else
    result.dense = select_dense(graph, kept);
  result.attribute_names.clear();
  for (const int64_t attribute : kept) result.attribute_names.push_back(graph.attribute_name(attribute));
  return result;
}

}  // namespace l0gm
