#pragma once

#include <cstdint>

#include "training/options.h"

namespace l0gm {

// The learning rate over the steps of a run, as a share of train.lr: it rises, then falls as train.lr_decay says. With
// train.lr_restart it does so twice, before and after the step at which gates are fixed.
class LearningRate {
 public:
  // fixed_at: the first step with fixed gates; `steps` where there is none.
  LearningRate(const TrainOptions& options, int64_t steps, int64_t fixed_at);
  double factor(int64_t step) const;

 private:
  double within(int64_t step, int64_t steps) const;  // one rise and fall
  TrainOptions options_;
  int64_t steps_, fixed_at_;
};

}  // namespace l0gm
