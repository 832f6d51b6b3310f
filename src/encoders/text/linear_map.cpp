#include "encoders/text/linear_map.h"

#include <ATen/Functions.h>

#include "encoders/text/fused_linear.h"

namespace l0gm {

LinearMap::LinearMap(int64_t inputs, int64_t outputs) {
  weight = register_parameter("weight", at::zeros({outputs, inputs}));
  bias = register_parameter("bias", at::zeros({outputs}));
}

torch::Tensor linear(const torch::Tensor& x, const torch::Tensor& weight, const torch::Tensor& bias, torch::Dtype compute) {
  if (weight.size(1) == 0) return bias.to(compute).expand({x.size(0), bias.size(0)});
  if (FusedLinear::serves(x, compute)) return FusedLinear::once(weight, bias, x.contiguous());
  return at::linear(x.to(compute), weight.to(compute), bias.to(compute));
}

torch::Tensor LinearMap::forward(const torch::Tensor& x, torch::Dtype compute) const { return linear(x, weight, bias, compute); }

LayerNorm::LayerNorm(int64_t width, double epsilon) : epsilon_(epsilon) {
  weight = register_parameter("weight", at::ones({width}));
  bias = register_parameter("bias", at::zeros({width}));
}

torch::Tensor LayerNorm::forward(const torch::Tensor& x) const {
  return at::layer_norm(x.to(weight.scalar_type()), {weight.size(0)}, weight, bias, epsilon_);
}

torch::Tensor LayerNorm::of_sum(const torch::Tensor& x, const torch::Tensor& y) const { return forward(x + y); }

}  // namespace l0gm
