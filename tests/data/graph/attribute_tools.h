#pragma once

#include <vector>

#include "data/graph/attribute_statistics.h"
#include "data/graph/graph.h"

namespace l0gm {

// A graph of attributes alone, without edges; all nodes of class 0.
inline Graph graph_of(const std::vector<std::vector<float>>& rows, const std::vector<int64_t>& train, bool sparse) {
  Graph graph;
  graph.name = "test";
  graph.nodes = static_cast<int64_t>(rows.size());
  graph.attributes = static_cast<int64_t>(rows.at(0).size());
  graph.offsets = std::vector<int64_t>(rows.size() + 1, 0);
  graph.labels = std::vector<int32_t>(rows.size(), 0);
  graph.classes = {"x"};
  graph.train = train;
  std::vector<float> dense, values;
  std::vector<int64_t> offsets = {0};
  std::vector<int32_t> columns;
  for (const auto& row : rows) {
    for (size_t j = 0; j < row.size(); ++j) {
      dense.push_back(row[j]);
      if (row[j] == 0) continue;
      columns.push_back(static_cast<int32_t>(j));
      values.push_back(row[j]);
    }
    offsets.push_back(static_cast<int64_t>(values.size()));
  }
  if (sparse) {
    graph.sparse = {offsets, columns, values};
  } else {
    graph.dense = dense;
  }
  return graph;
}

inline std::vector<float> row_of(const Graph& graph, int64_t node) {
  std::vector<float> row(static_cast<size_t>(graph.attributes));
  write_attributes(graph, node, row);
  return row;
}

}  // namespace l0gm
