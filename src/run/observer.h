#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "run/gate_units.h"

namespace l0gm {

// One line of metrics.jsonl: where training stood after an epoch.
struct EpochRecord {
  int64_t step = 0, epoch = 0;
  std::string phase;
  double tau = 0, lambda = 0, mu = 0;
  double train_loss = 0, valid_nll = 0;
  double active_fraction = 1, expected_active_fraction = 1;
  double seconds = 0;
  std::vector<GateHistogram> gates;  // of each site
  bool selected = false;             // the best so far
};

// Follows a run: progress bar, event files for TensorBoard.
class Observer {
 public:
  virtual ~Observer() = default;
  virtual void step_finished(int64_t /*step*/, int64_t /*steps*/, double /*loss*/) {}
  virtual void epoch_finished(const EpochRecord& /*record*/) {}
};

}  // namespace l0gm
