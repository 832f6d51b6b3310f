#pragma once

#include <memory>

#include "encode/text/transformer_config.h"
#include "encoders/text/layer_pass.h"
#include "encoders/text/layer_weights.h"
#include "encoders/text/linear_map.h"

namespace l0gm {

// The second half of a layer: each state by itself through a wide hidden layer.
class FeedForward : public torch::nn::Module {
 public:
  FeedForward(int64_t hidden, int64_t intermediate, Activation activation);
  // By these weights, its own or some of them.
  torch::Tensor forward(const torch::Tensor& x, const LayerWeights& weights, torch::Dtype compute) const;
  std::shared_ptr<LinearMap> in, out;
  Activation activation() const { return activation_; }

 private:
  Activation activation_;
};

}  // namespace l0gm
