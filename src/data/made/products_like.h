#pragma once

#include <cstdint>
#include <string>

#include "data/graph/graph.h"

namespace l0gm {

// A graph of ogbn-products' size and kind, or of `scale` times it. `real`: the folder with the real labels and split (statistics
// in data/README of the dataset), "" where it is not there: then labels are drawn from the class counts. Same seed, same graph,
// on any number of threads.
Graph make_products_like(double scale, uint64_t seed, const std::string& real);

}  // namespace l0gm
