#pragma once

#include <cstdint>
#include <string_view>

#include "data/graph/graph.h"

namespace l0gm {

// What tells a node's class in a varied graph.
enum class GraphWorld {
  communities,  // neighbours are of the same class mostly
  opposites,    // neighbours are of other classes mostly, which ones depends on the class
  own,          // the node's own attributes; edges say nothing
  difference,   // how the node differs from its neighbours
  distant,      // the nodes two steps away, neither the node itself nor its neighbours
  mines,        // a board: each square knows how many mines lie around it, or does not
};
std::string_view name_of(GraphWorld world);

// Graphs of all kinds, one for each seed: world, nodes (2,000 to 20,000), degrees (even or with hubs), classes, attributes, noise
// and the share of training nodes are drawn. Settings are judged over many of them.
Graph make_varied_graph(uint64_t seed);

}  // namespace l0gm
