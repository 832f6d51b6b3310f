#pragma once

#include "data/graph/graph.h"

namespace l0gm {

// Four nodes in a line, two attributes, two classes.
inline Graph small_graph(bool sparse) {
  Graph graph;
  graph.name = "small";
  graph.nodes = 4;
  build_adjacency(graph, {{0, 1, 2}, {1, 2, 3}}, true);
  graph.attributes = 2;
  if (sparse) {
    graph.sparse = {std::vector<int64_t>{0, 1, 1, 3, 3}, std::vector<int32_t>{1, 0, 1}, std::vector<float>{1, 2, 3}};
  } else {
    graph.dense = std::vector<float>{0, 1, 0, 0, 2, 3, 0, 0};
  }
  graph.attribute_names = {"x", "y"};
  graph.labels = std::vector<int32_t>{0, 1, 1, -1};
  graph.classes = {"no", "yes"};
  graph.train = {0};
  graph.valid = {1};
  graph.test = {2};
  return graph;
}

}  // namespace l0gm
