#include "encoders/graph/channel_norm.h"

#include <ATen/Functions.h>

#include "encoders/graph/convolution.h"

namespace l0gm {

namespace {
constexpr double epsilon = 1e-5;
}

ChannelNorm::ChannelNorm(Norm kind, int64_t channels) : kind_(kind) {
  if (kind_ == Norm::none) return;
  weight_ = register_parameter("weight", at::ones({channels}));
  bias_ = register_parameter("bias", at::zeros({channels}));
  if (kind_ != Norm::batch) return;
  // Parameters, so that a checkpoint holds them, without a gradient, so that the optimiser leaves them alone.
  mean_ = register_parameter("mean", at::zeros({channels}), false);
  variance_ = register_parameter("variance", at::ones({channels}), false);
}

torch::Tensor ChannelNorm::forward(const torch::Tensor& x) {
  if (kind_ == Norm::none) return x;
  if (kind_ == Norm::layer) return at::layer_norm(x, {x.size(1)}, weight_, bias_, epsilon);
  if (!is_training() && collecting_) {
    torch::NoGradGuard no_grad;
    mean_.copy_(x.mean(0));
    variance_.copy_(x.var(0, /*unbiased=*/false));
  }
  const bool own_statistics = is_training() && x.size(0) > 1;
  const torch::Tensor mean = own_statistics ? torch::Tensor{} : mean_, variance = own_statistics ? torch::Tensor{} : variance_;
  return at::batch_norm(x, weight_, bias_, mean, variance, own_statistics, 0.0, epsilon, false);
}

void ChannelNorm::narrow(const torch::Tensor& kept) {
  for (torch::Tensor* parameter : {&weight_, &bias_, &mean_, &variance_}) {
    if (parameter->defined()) keep_part(*parameter, 0, kept);
  }
}

}  // namespace l0gm
