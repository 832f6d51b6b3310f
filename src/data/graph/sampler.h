#pragma once

#include <cstdint>
#include <memory>

#include "data/graph/blocks.h"
#include "data/graph/options.h"

namespace l0gm {

// Draws the structure of each training step. A pure function of (seed, epoch, index): any order, any thread.
// Unbiased for sums and means over neighbours (one linear layer); what is not linear in the messages (attention, maximum) is
// biased.
class GraphSampler {
 public:
  virtual ~GraphSampler() = default;
  virtual int64_t steps_per_epoch() const = 0;
  virtual MessagePlan draw(int64_t epoch, int64_t index) const = 0;
};

// `graph` must outlive the sampler. `layers`: of the model. `batch`: training nodes of a step (neighbour, fastgcn), or about the
// nodes of a subgraph (saint). Not for SamplerKind::full.
std::unique_ptr<GraphSampler> make_sampler(const Graph& graph, const GraphOptions& options, int64_t layers, int64_t batch,
                                           uint64_t seed);

// Draws ahead in threads of its own, in the order of the steps; hands out the same plans as the sampler itself would, also when
// asked for another step than the next (a resumed run). An exception of a thread is thrown by the call that asks for its plan.
class Prefetcher {
 public:
  Prefetcher(std::shared_ptr<const GraphSampler> sampler, int64_t threads, int64_t ahead);  // threads 0: draws when asked
  ~Prefetcher();
  Prefetcher(const Prefetcher&) = delete;
  Prefetcher& operator=(const Prefetcher&) = delete;
  MessagePlan take(int64_t epoch, int64_t index);
  int64_t steps_per_epoch() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace l0gm
