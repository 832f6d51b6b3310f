#pragma once

#include <string>

#include "data/graph/graph.h"

namespace l0gm {

// Checks all invariants of a Graph (ranges, order, sizes, finite attributes, labels in range, disjoint splits, at least one
// training node if `to_train`); UserError naming `source`. Readers call it once; a graph that passed is not checked again.
void check_graph(const Graph& graph, const std::string& source, bool to_train = true);

}  // namespace l0gm
