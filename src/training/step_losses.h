#pragma once

#include <torch/types.h>

namespace l0gm {

// Losses and gradient norms of steps, added up on the device: asking for each step's would make the host wait for the device.
// Their memory stays the same, so that steps that are captured can add to it.
class StepLosses {
 public:
  // True: a new sum is begun, from `so_far` on.
  bool begin(double so_far, torch::Device device);
  void add(const torch::Tensor& loss, const torch::Tensor& norm);
  void end() { begun_ = false; }

  bool begun() const { return begun_; }
  bool on_processor() const { return loss_.is_cpu(); }
  double loss() const { return loss_.item<double>(); }
  double norm() const { return norm_.item<double>(); }

  struct Kept {
    torch::Tensor loss, norm;
    bool begun;
  };
  Kept keep() const;
  void restore(const Kept& kept);

 private:
  torch::Tensor loss_, norm_;  // float64, scalars
  bool begun_ = false;
};

}  // namespace l0gm
