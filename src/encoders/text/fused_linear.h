#pragma once

#include <torch/types.h>

#include <optional>

#include "encode/text/transformer_config.h"

namespace l0gm {

// A linear map on the processor without gradient, by oneDNN's kernels: the weight is laid out for them once and used for many
// blocks of rows, and what follows the product is done while its result is in the cache.
class FusedLinear {
 public:
  // Whether it computes what LinearMap would, and faster: many rows of float32 on the processor, no gradient wanted, and LibTorch
  // has oneDNN.
  static bool serves(const torch::Tensor& x, torch::Dtype compute);

  // `rows`: of each call, roughly; the layout is chosen for them.
  FusedLinear(const torch::Tensor& weight, const torch::Tensor& bias, int64_t rows);
  torch::Tensor forward(const torch::Tensor& x) const;
  torch::Tensor activated(const torch::Tensor& x, Activation activation) const;
  torch::Tensor plus(const torch::Tensor& x, const torch::Tensor& added) const;

  static torch::Tensor once(const torch::Tensor& weight, const torch::Tensor& bias, const torch::Tensor& x);  // all rows

 private:
  torch::Tensor weight_, bias_;
};

}  // namespace l0gm
