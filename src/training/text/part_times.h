#pragma once

#include <optional>

#include "encoders/text/part_costs.h"
#include "training/text/text_record.h"
#include "training/text/text_task.h"

namespace l0gm {

// Microseconds that a text takes on this device, from token ids to probabilities, both on the host, with an encoder of some shape;
// weights do not matter. On a processor it is processor time, by thread. Shapes are timed in turn, so that what else the machine
// does meets all of them alike; the fastest round of each counts.
class TextClock {
 public:
  // Some of the texts, of all lengths.
  TextClock(const TextRows& texts, const Config& config, const Machine& machine);
  std::vector<double> microseconds(const std::vector<TransformerConfig>& shapes) const;
  Pooling pooling() const { return config_.encoder.pooling; }

 private:
  TextRows texts_;
  std::vector<int64_t> rows_;
  const Config& config_;
  Machine machine_;
};

// What the parts of an encoder take, from the times of smaller ones: half the heads, half the neurons, no layer (or one, which
// Pooling::cls needs).
PartTimes measure_parts(const TextClock& clock, const TransformerConfig& shape);

}  // namespace l0gm
