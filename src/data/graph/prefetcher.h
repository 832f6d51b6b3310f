#pragma once

#include <cstdint>
#include <memory>

#include "data/graph/sampler.h"

namespace l0gm {

// Draws plans in advance in its own threads, in the order of the steps; returns the same plans as the sampler itself, also when
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
