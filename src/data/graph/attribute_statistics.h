#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "data/graph/graph.h"

namespace l0gm {

// What training nodes say about each raw attribute; zeros that sparse rows leave out count like others.
struct AttributeStatistics {
  std::vector<double> mean, deviation;  // of the population: squares are divided by the number of nodes
  std::vector<float> low, high;
};
AttributeStatistics attribute_statistics(const Graph& graph);

// A node's attributes written out in full, however they are stored; `out` has room for all.
void write_attributes(const Graph& graph, int64_t node, std::span<float> out);

}  // namespace l0gm
