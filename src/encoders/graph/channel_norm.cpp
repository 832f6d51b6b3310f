#include "encoders/graph/channel_norm.h"

#include <ATen/Functions.h>

#include "encoders/graph/convolution.h"
#ifdef L0GM_HAS_CUDA
#include <c10/core/GradMode.h>

#include "encoders/graph/cuda/norm_rows.h"
#include "gate/cuda/stream.h"
#endif

namespace l0gm {

namespace {
constexpr double epsilon = 1e-5;
}

ChannelNorm::ChannelNorm(Norm kind, int64_t channels) : kind_(kind) {
  if (kind_ == Norm::none) return;
  weight_ = register_parameter("weight", at::ones({channels}));
  bias_ = register_parameter("bias", at::zeros({channels}));
  if (kind_ != Norm::batch) return;
  // Parameters, so that a checkpoint holds them; without a gradient, so that the optimiser does not change them.
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

torch::Tensor ChannelNorm::forward_relu(const torch::Tensor& x) {
#ifdef L0GM_HAS_CUDA
  const bool floats = x.is_cuda() && x.scalar_type() == torch::kFloat32 && x.is_contiguous();
  if (kind_ == Norm::layer && floats && !c10::GradMode::is_enabled() && cuda::can_norm_rows(x.size(1))) {
    torch::Tensor y = at::empty_like(x);
    cuda::norm_rows({x.size(0), x.size(1), static_cast<float>(epsilon), x.const_data_ptr<float>(),
                     weight_.const_data_ptr<float>(), bias_.const_data_ptr<float>(), y.data_ptr<float>()},
                    cuda::current_stream(x.device().index()));
    cuda::check_launch();
    return y;
  }
#endif
  return forward(x).relu_();
}

void ChannelNorm::narrow(const torch::Tensor& kept) {
  for (torch::Tensor* parameter : {&weight_, &bias_, &mean_, &variance_}) {
    if (parameter->defined()) keep_part(*parameter, 0, kept);
  }
}

}  // namespace l0gm
