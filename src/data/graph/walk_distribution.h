#pragma once

#include <cstdint>
#include <memory>

#include "data/graph/subgraph_distribution.h"

namespace l0gm {

// Random walks of `length` steps from `roots` uniformly drawn nodes, along the neighbours. There is no formula for the chances:
// they are estimated from subgraphs drawn in advance (`threads` at a time), enough to expect about 50 occurrences of each node.
// An edge between drawn nodes that did not occur in the estimate has weight 1.
std::unique_ptr<SubgraphDistribution> walk_distribution(const Graph& graph, int64_t roots, int64_t length, int64_t threads,
                                                        uint64_t seed);

}  // namespace l0gm
