#pragma once

#include <torch/nn/module.h>
#include <torch/types.h>

namespace l0gm {

// x weight^T + bias; the product is computed in `compute`. A weight of no inputs leaves the bias.
torch::Tensor linear(const torch::Tensor& x, const torch::Tensor& weight, const torch::Tensor& bias, torch::Dtype compute);

// x weight^T + bias. Weights keep their own precision; the product is computed in `compute`.
class LinearMap : public torch::nn::Module {
 public:
  LinearMap(int64_t inputs, int64_t outputs);
  torch::Tensor forward(const torch::Tensor& x, torch::Dtype compute) const;
  torch::Tensor weight, bias;  // [outputs, inputs], [outputs]
};

// Layer normalisation over the last dimension, in the precision of its weights whatever it reads.
class LayerNorm : public torch::nn::Module {
 public:
  LayerNorm(int64_t width, double epsilon);
  torch::Tensor forward(const torch::Tensor& x) const;
  torch::Tensor of_sum(const torch::Tensor& x, const torch::Tensor& y) const;  // of x + y
  torch::Tensor weight, bias;

 private:
  double epsilon_;
};

}  // namespace l0gm
