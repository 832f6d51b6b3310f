#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "data/graph/graph.h"

namespace l0gm {

// Statistics of each raw attribute over the training nodes, including the zeros that sparse rows do not store.
struct AttributeStatistics {
  std::vector<double> mean, deviation;  // of the population: squares are divided by the number of nodes
  std::vector<float> low, high;
};
AttributeStatistics attribute_statistics(const Graph& graph);

// Writes all attributes of a node as a dense row, also where they are stored sparse; `out` has room for all.
void write_attributes(const Graph& graph, int64_t node, std::span<float> out);

}  // namespace l0gm
