#pragma once

#include <vector>

#include "data/graph/sampler.h"
#include "data/graph/sampling.h"

namespace l0gm {

// Each node gets messages from a sample of its neighbours (GraphSAGE): from the last layer to the first, every node that a later
// layer needs draws up to `fanout` of them without replacement, each with weight degree / drawn. What a node draws depends only
// on the step, the layer and the node.
class NeighbourSampler : public GraphSampler {
 public:
  NeighbourSampler(const Graph& graph, const GraphOptions& options, int64_t layers, int64_t batch, uint64_t seed);
  int64_t steps_per_epoch() const override { return order_.steps(); }
  MessagePlan draw(int64_t epoch, int64_t index) const override;

 private:
  const Graph& graph_;
  std::vector<int64_t> fanout_;  // of each layer, from the last
  uint64_t seed_;
  EpochOrder order_;
};

}  // namespace l0gm
