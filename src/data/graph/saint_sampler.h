#pragma once

#include <memory>
#include <span>
#include <vector>

#include "data/graph/sampler.h"
#include "data/graph/sampling.h"

namespace l0gm {

// How a subgraph's nodes are drawn, and how often that brings in a node or an edge: the edges of a subgraph are all those between
// its nodes. Subgraphs without a training node are drawn again; chances are those of the subgraphs that are kept.
class SubgraphLaw {
 public:
  virtual ~SubgraphLaw() = default;
  virtual void pick(uint64_t key, NodeNumbering& nodes) const = 0;
  virtual double chance(int64_t node) const = 0;
  virtual double chance(int64_t node, int64_t place) const = 0;  // of the edge to the neighbour at this place of the node's row
};

// `draws` nodes with replacement, in proportion to the squared norm of their column of GCN's matrix (those nobody hears: as the
// mean of the others, so that each training node is an example at times).
std::unique_ptr<SubgraphLaw> saint_node_law(const Graph& graph, int64_t draws);
// `draws` edges with replacement, p(u, v) in proportion to 1 / d_u + 1 / d_v: a node at random, then one of its neighbours, comes
// to just that. A node without neighbours comes alone.
std::unique_ptr<SubgraphLaw> saint_edge_law(const Graph& graph, int64_t draws);
// Walks of `length` steps from `roots` nodes at random, over the neighbours. Its chances have no formula: they are counted over
// subgraphs drawn ahead (`threads` at a time), enough for about 50 of each node. An edge between drawn nodes that was never
// counted weighs 1.
std::unique_ptr<SubgraphLaw> saint_walk_law(const Graph& graph, int64_t roots, int64_t length, int64_t threads, uint64_t seed);

// The nodes of the first subgraph by this key that has a training node, ascending. UserError after many without.
std::vector<int64_t> draw_subgraph(const SubgraphLaw& law, std::span<const uint8_t> is_training, uint64_t key);
std::vector<uint8_t> mark_training(const Graph& graph);  // per node: 1 in training

// Subgraphs as batches (GraphSAINT, Zeng et al. 2020): one square block for all layers. With C the chance of being in a subgraph,
// an edge weighs C_v / C_uv, which makes neighbour sums unbiased; an example weighs 1 / C_v, which makes the sum of losses so
// (the trainer divides by the sum of weights); the latter times a constant that gives the examples of a step the mean weight 1.
// Exact for `node` and `edge`, estimated for `walk`.
class SaintSampler : public GraphSampler {
 public:
  SaintSampler(const Graph& graph, const GraphOptions& options, int64_t layers, int64_t batch, uint64_t seed);
  int64_t steps_per_epoch() const override { return (graph_.nodes + batch_ - 1) / batch_; }
  MessagePlan draw(int64_t epoch, int64_t index) const override;

 private:
  const Graph& graph_;
  int64_t layers_, batch_;
  uint64_t seed_;
  std::vector<uint8_t> is_training_;
  std::unique_ptr<SubgraphLaw> law_;
  double examples_share_ = 0;  // of the training nodes that a subgraph has on average
};

}  // namespace l0gm
