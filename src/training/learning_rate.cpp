#include "training/learning_rate.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace l0gm {

LearningRate::LearningRate(const TrainOptions& options, int64_t steps, int64_t fixed_at)
    : options_(options), steps_(steps), fixed_at_(options.lr_restart ? std::clamp<int64_t>(fixed_at, 0, steps) : steps) {}

double LearningRate::factor(int64_t step) const {
  return step < fixed_at_ ? within(step, fixed_at_) : within(step - fixed_at_, steps_ - fixed_at_);
}

double LearningRate::within(int64_t step, int64_t steps) const {
  const double warmup = options_.lr_warmup * static_cast<double>(steps), at = static_cast<double>(step);
  if (at < warmup) return (at + 1) / (warmup + 1);
  const double x = (at - warmup) / std::max(1.0, static_cast<double>(steps) - warmup);
  switch (options_.lr_decay) {
    case Decay::cosine:
      return options_.lr_end + (1 - options_.lr_end) * (0.5 + 0.5 * std::cos(std::numbers::pi * x));
    case Decay::linear:
      return 1 + (options_.lr_end - 1) * x;
    case Decay::constant:
      return 1;
  }
  return 1;
}

}  // namespace l0gm
