#include "encoders/text/feed_forward.h"

#include <ATen/Functions.h>

namespace l0gm {

FeedForward::FeedForward(int64_t hidden, int64_t intermediate, Activation activation) : activation_(activation) {
  in = register_module("in", std::make_shared<LinearMap>(hidden, intermediate));
  out = register_module("out", std::make_shared<LinearMap>(intermediate, hidden));
}

torch::Tensor FeedForward::forward(const torch::Tensor& x, const LayerWeights& weights, torch::Dtype compute) const {
  if (weights.neurons() == 0) return linear(x, weights.narrow, weights.narrow_bias, compute);
  torch::Tensor y = linear(x, weights.wide, weights.wide_bias, compute);
  switch (activation_) {
    case Activation::gelu:
      y = at::gelu(y);
      break;
    case Activation::gelu_tanh:
      y = at::gelu(y, "tanh");
      break;
    case Activation::relu:
      y = at::relu(y);
      break;
  }
  return linear(y, weights.narrow, weights.narrow_bias, compute);
}

}  // namespace l0gm
