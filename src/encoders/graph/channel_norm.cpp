#include "encoders/graph/channel_norm.h"

#include <ATen/Functions.h>

#include "encoders/graph/convolution.h"
#include "gate/counter_dropout.h"
#ifdef L0GM_HAS_CUDA
#include <torch/autograd.h>

#include "encoders/graph/cuda/norm_rows.h"
#include "gate/cuda/stream.h"
#include "gate/saved_key.h"
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

#ifdef L0GM_HAS_CUDA
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

cuda::DeviceRowNorm device_norm(const torch::Tensor& x, const torch::Tensor& weight, const torch::Tensor& bias,
                                const RowDropout& dropout) {
  cuda::DeviceRowNorm norm;
  norm.rows = x.size(0), norm.width = x.size(1);
  norm.epsilon = static_cast<float>(epsilon);
  norm.x = x.const_data_ptr<float>(), norm.weight = weight.const_data_ptr<float>(), norm.bias = bias.const_data_ptr<float>();
  if (!dropout.ids.defined()) return norm;
  norm.share = static_cast<float>(dropout.share), norm.key = dropout.key, norm.ids = dropout.ids.const_data_ptr<int64_t>();
  return norm;
}

// Keeps its input and two numbers of each row; sign and mask are found again.
struct NormRelu : torch::autograd::Function<NormRelu> {
  static torch::Tensor forward(AutogradContext* context, const torch::Tensor& x, const torch::Tensor& weight,
                               const torch::Tensor& bias, const std::optional<torch::Tensor>& given, const SavedKey& key,
                               double share) {
    const torch::Tensor ids = given.value_or(torch::Tensor());  // optional: an undefined tensor is refused as an input
    const torch::Tensor y = at::empty_like(x);
    const torch::Tensor mean = at::empty({x.size(0)}, x.options().requires_grad(false)), scale = at::empty_like(mean);
    cuda::norm_rows(device_norm(x, weight, bias, {share, key.key, ids}), y.data_ptr<float>(),
                    mean.data_ptr<float>(), scale.data_ptr<float>(), cuda::current_stream(x.device().index()));
    cuda::check_launch();
    context->save_for_backward({x, weight, bias, ids, mean, scale});
    key.save(*context);
    context->saved_data["share"] = share;
    return y;
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const auto saved = context->get_saved_variables();
    const torch::Tensor &x = saved[0], &weight = saved[1], of_y = gradients[0].contiguous();
    const auto norm = device_norm(x, weight, saved[2],
                                  {context->saved_data["share"].toDouble(), SavedKey::of(*context), saved[3]});
    const torch::Tensor of_x = context->needs_input_grad(0) ? at::empty_like(x) : torch::Tensor();
    const torch::Tensor of_both =
        x.size(0) == 0 ? at::zeros({2, x.size(1)}, x.options()) : at::empty({2, x.size(1)}, x.options());
    const torch::Tensor partial = at::empty({cuda::norm_partial_sums(norm)}, x.options());
    cuda::norm_rows_backward(norm, saved[4].const_data_ptr<float>(), saved[5].const_data_ptr<float>(),
                             of_y.const_data_ptr<float>(), of_x.defined() ? of_x.data_ptr<float>() : nullptr,
                             of_both.data_ptr<float>(), partial.data_ptr<float>(), cuda::current_stream(x.device().index()));
    cuda::check_launch();
    return {of_x, of_both[0], of_both[1], {}, {}, {}};
  }
};

}  // namespace
#endif

torch::Tensor ChannelNorm::forward_relu(const torch::Tensor& x, const RowDropout& dropout) {
#ifdef L0GM_HAS_CUDA
  const bool floats = x.is_cuda() && x.scalar_type() == torch::kFloat32;
  if (kind_ == Norm::layer && floats && cuda::can_norm_rows(x.size(1))) {
    std::optional<torch::Tensor> ids;
    if (dropout.ids.defined()) ids = dropout.ids.to(x.device(), torch::kInt64).contiguous();
    return NormRelu::apply(x.contiguous(), weight_, bias_, ids, SavedKey{dropout.key}, dropout.share);
  }
#endif
  const torch::Tensor y = forward(x).relu_();
  return dropout.ids.defined() ? counter_dropout(y, dropout.share, dropout.key, dropout.ids) : y;
}

void ChannelNorm::narrow(const torch::Tensor& kept) {
  for (torch::Tensor* parameter : {&weight_, &bias_, &mean_, &variance_}) {
    if (parameter->defined()) keep_part(*parameter, 0, kept);
  }
}

}  // namespace l0gm
