#pragma once

#include <cstdint>
#include <memory>

#include "data/graph/blocks.h"
#include "data/graph/options.h"

namespace l0gm {

// Draws the structure of each training step. A pure function of (seed, epoch, index): any order, any thread.
// Unbiased for sums and means over neighbours (one linear layer); biased for what is not linear in the messages (attention,
// maximum).
class GraphSampler {
 public:
  virtual ~GraphSampler() = default;
  virtual int64_t steps_per_epoch() const = 0;
  virtual MessagePlan draw(int64_t epoch, int64_t index) const = 0;
};

// `graph` must outlive the sampler. `layers`: of the model. `batch`: training nodes of a step (neighbour, fastgcn), or the
// approximate number of nodes of a subgraph (saint). Not for SamplerKind::full.
std::unique_ptr<GraphSampler> make_sampler(const Graph& graph, const GraphOptions& options, int64_t layers, int64_t batch,
                                           uint64_t seed);

}  // namespace l0gm
