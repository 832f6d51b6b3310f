#pragma once

#include <cstdint>
#include <string>

#include "data/graph/graph.h"

namespace l0gm {

// A graph of ogbn-products' size and kind, or of `scale` times it. `real`: the folder with the real labels and split (statistics
// in data/README of the dataset); "": labels are drawn from the class counts. The graph depends on the seed, not on the number of
// threads.
Graph make_products_like(double scale, uint64_t seed, const std::string& real);

}  // namespace l0gm
