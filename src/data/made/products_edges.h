#pragma once

#include <cstdint>

#include "data/graph/graph.h"
#include "data/made/products_nodes.h"
#include "data/made/products_tree.h"

namespace l0gm {

// A graph in which a node's degree is log-normal and each of its edges stays within one of its ranges, the node's share of each
// level depending on who it is and how late; about `directed_edges` in all. Fills offsets, neighbours and `symmetric`.
void make_products_edges(const ProductsNodes& nodes, const ProductsTree& tree, int64_t directed_edges, uint64_t seed,
                         Graph& graph);

}  // namespace l0gm
