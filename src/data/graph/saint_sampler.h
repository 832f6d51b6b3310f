#pragma once

#include <memory>
#include <vector>

#include "data/graph/sampler.h"
#include "data/graph/subgraph_distribution.h"

namespace l0gm {

// Subgraphs as batches (GraphSAINT, Zeng et al. 2020): one square block for all layers. With C the chance of being in a subgraph,
// an edge has the weight C_v / C_uv, which makes neighbour sums unbiased; an example of N training nodes has the weight
// 1 / (C_v N), which makes the weighted sum of losses, as the trainer takes it, an unbiased estimate of their mean over all
// training nodes. Chances are exact for `node` and `edge`, estimated for `walk`.
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
  std::unique_ptr<SubgraphDistribution> distribution_;
};

}  // namespace l0gm
