#pragma once

#include <optional>
#include <vector>

#include "data/graph/sampler.h"
#include "data/graph/sampling.h"

namespace l0gm {

// Nodes are drawn layer by layer (FastGCN, Chen et al. 2018): `layer_nodes` draws with replacement, q(u) in proportion to the
// squared norm of column u of GCN's matrix; a target sums over those of its neighbours that were drawn, with weights
// count / (draws * q). A layer's targets are among its sources, so that a node's own contribution is exact; they send messages to
// other nodes only where they were drawn.
class FastGcnSampler : public GraphSampler {
 public:
  FastGcnSampler(const Graph& graph, const GraphOptions& options, int64_t layers, int64_t batch, uint64_t seed);
  int64_t steps_per_epoch() const override { return order_.steps(); }
  MessagePlan draw(int64_t epoch, int64_t index) const override;

 private:
  std::shared_ptr<const MessageBlock> draw_layer(uint64_t key) const;

  const Graph& graph_;
  int64_t layers_, draws_;
  uint64_t seed_;
  EpochOrder order_;
  std::vector<double> probability_;  // of each node in one draw
  std::optional<AliasTable> table_;  // empty if the graph has no edges
};

}  // namespace l0gm
