#pragma once

#include <cstdint>

#include "data/graph/graph.h"
#include "data/made/products_nodes.h"
#include "data/made/products_tree.h"

namespace l0gm {

// A graph in which degrees are log-normal and each edge of a node stays within one of the node's ranges; the share of each level
// depends on the node's class, rank and degree. About `directed_edges` in all. Fills offsets, neighbours and `symmetric`.
void make_products_edges(const ProductsNodes& nodes, const ProductsTree& tree, int64_t directed_edges, uint64_t seed,
                         Graph& graph);

}  // namespace l0gm
