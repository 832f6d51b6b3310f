#pragma once

#include <cstdint>

#include "data/graph/graph.h"

namespace l0gm {

// A graph whose informative attributes are known: 32 attributes, of which 8 carry signal that shows only after aggregation (each
// node's own value is mostly noise, the neighbourhood mean is informative), the others none; 4 decoys are correlated .5 with an
// informative one. 4 classes.
Graph make_planted_graph(int64_t nodes, uint64_t seed);

}  // namespace l0gm
