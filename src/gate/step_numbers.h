#pragma once

#include <torch/types.h>

#include <array>
#include <map>

namespace l0gm {

// What the arithmetic of a training step takes from the schedule and from control.
enum class StepNumber {
  tau,
  price_in_loss,   // times expected cost, with gate.lambda
  follow_weight,   // of the step in running means of worth
  price,           // worth at which logits stand still
  scale,           // distance from it at which they move at full speed
  rate_factor,     // of learning rates
  average_weight,  // of the weights in their average
  count
};

// Numbers that differ from step to step, in a device's memory: a step that is captured once as a CUDA graph and replayed reads
// them there. One copy brings all of them.
//   numbers.set_step(seed, step);  numbers.set(StepNumber::tau, 0.7);  numbers.send();  // before the step
//   … GatePass(state, seed, step, ids, &numbers) …
class StepNumbers {
 public:
  explicit StepNumbers(torch::Device device);

  void set_step(uint64_t seed, int64_t step);  // the keys of all places
  void set(StepNumber which, double value);
  void send();

  torch::Tensor at(StepNumber which) const;  // float64, a scalar on the device; always the same memory
  double value(StepNumber which) const { return reals_[static_cast<size_t>(which)]; }
  // Where the key of this place is. A place that is asked for the first time is sent at once.
  const uint64_t* key(int64_t site);

 private:
  static constexpr int64_t reals = static_cast<int64_t>(StepNumber::count), most_keys = 256;

  uint64_t seed_ = 0;
  int64_t step_ = 0;
  std::array<double, static_cast<size_t>(reals)> reals_{};
  std::map<int64_t, int64_t> slots_;  // of places among the keys
  torch::Tensor device_reals_, device_keys_, all_;
};

}  // namespace l0gm
