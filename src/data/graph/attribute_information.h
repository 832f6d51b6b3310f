#pragma once

#include <vector>

#include "data/graph/graph.h"

namespace l0gm {

// Mutual information in nats of each attribute with the class, over training nodes. An attribute that is mostly zero counts as
// present or absent, any other is divided into ten bins of equal mass.
std::vector<double> attribute_information(const Graph& graph);

}  // namespace l0gm
