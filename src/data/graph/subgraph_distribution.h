#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "data/graph/sampling.h"

namespace l0gm {

// How the nodes of a random subgraph are drawn, and the chance that it contains a given node or edge; its edges are all those
// between its nodes. Subgraphs without a training node are rejected and drawn again; chances are conditional on acceptance.
class SubgraphDistribution {
 public:
  virtual ~SubgraphDistribution() = default;
  virtual void pick(uint64_t key, NodeNumbering& nodes) const = 0;
  virtual double chance(int64_t node) const = 0;
  virtual double chance(int64_t node, int64_t place) const = 0;  // of the edge to the neighbour at this place of the node's row
};

// `draws` nodes with replacement, in proportion to the squared norm of their column of GCN's matrix. Nodes without outgoing edges
// have norm 0 and get the mean of the others, so that each training node can be drawn.
std::unique_ptr<SubgraphDistribution> node_distribution(const Graph& graph, int64_t draws);
// `draws` edges with replacement, p(u, v) in proportion to 1 / d_u + 1 / d_v: drawing a node uniformly and then one of its
// neighbours has this distribution. A node without neighbours comes alone.
std::unique_ptr<SubgraphDistribution> edge_distribution(const Graph& graph, int64_t draws);

// The nodes of the first subgraph by this key that has a training node, ascending. UserError after 10,000 attempts.
std::vector<int64_t> draw_subgraph(const SubgraphDistribution& distribution, std::span<const uint8_t> is_training, uint64_t key);
std::vector<uint8_t> mark_training(const Graph& graph);  // per node: 1 for training nodes

}  // namespace l0gm
