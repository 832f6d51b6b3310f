#pragma once

#include <cstdint>
#include <string>

#include "data/graph/graph.h"

namespace l0gm {

// A graph whose informative attributes are known: 32 attributes, of which 8 carry signal that shows only after aggregation (each node's own
// value is mostly noise, the neighbourhood mean tells), the others none; 4 decoys are correlated .5 with an informative one. 4 classes.
Graph make_planted_graph(int64_t nodes, uint64_t seed);

// A graph of ogbn-products' size and kind, or of `scale` times it. `real`: the folder with the real labels and split (statistics in
// data/README of the dataset), "" where it is not there: then labels are drawn from the class counts. Same seed, same graph, on any number
// of threads.
Graph make_products_like(double scale, uint64_t seed, const std::string& real);

}  // namespace l0gm
