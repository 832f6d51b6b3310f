#include "encoders/text/fused_linear.h"

#include <ATen/Context.h>
#include <ATen/core/dispatch/Dispatcher.h>

namespace l0gm {

namespace {

// Laying out a weight costs as much as using it for some hundred rows: single texts are faster without.
constexpr int64_t fewest_rows = 768;

using Operation = std::optional<c10::OperatorHandle>;

// LibTorch's operations around oneDNN have no C++ functions of their own.
struct OneDnnOperations {
  Operation reorder = find("mkldnn::_reorder_linear_weight", "");
  Operation linear = find("mkldnn::_linear_pointwise", "");
  Operation linear_plus = find("mkldnn::_linear_pointwise", "binary");
  static Operation find(const char* name, const char* overload) {
    return c10::Dispatcher::singleton().findSchema({name, overload});
  }
  bool complete() const { return reorder && linear && linear_plus; }
};

const OneDnnOperations& operations() {
  static const OneDnnOperations found;
  return found;
}

torch::Tensor call(const Operation& operation, std::vector<c10::IValue> arguments) {
  operation->callBoxed(&arguments);
  return arguments.at(0).toTensor();
}

torch::Tensor linear(const torch::Tensor& x, const torch::Tensor& weight, const torch::Tensor& bias, const char* after,
                     c10::IValue algorithm) {
  return call(operations().linear, {x, weight, bias, after, c10::List<std::optional<at::Scalar>>(), std::move(algorithm)});
}

}  // namespace

bool FusedLinear::serves(const torch::Tensor& x, torch::Dtype compute) {
  return !at::GradMode::is_enabled() && x.size(0) >= fewest_rows && x.is_cpu() && x.scalar_type() == torch::kFloat32 &&
         compute == torch::kFloat32 && at::globalContext().userEnabledMkldnn() && operations().complete();
}

FusedLinear::FusedLinear(const torch::Tensor& weight, const torch::Tensor& bias, int64_t rows)
    : weight_(call(operations().reorder, {weight.detach().contiguous(), rows})), bias_(bias.detach()) {}

torch::Tensor FusedLinear::forward(const torch::Tensor& x) const { return linear(x, weight_, bias_, "none", ""); }

torch::Tensor FusedLinear::activated(const torch::Tensor& x, Activation activation) const {
  switch (activation) {
    case Activation::gelu:
      return linear(x, weight_, bias_, "gelu", "none");
    case Activation::gelu_tanh:
      return linear(x, weight_, bias_, "gelu", "tanh");
    case Activation::relu:
      return linear(x, weight_, bias_, "relu", "");
  }
  return forward(x);
}

torch::Tensor FusedLinear::plus(const torch::Tensor& x, const torch::Tensor& added) const {
  return call(operations().linear_plus, {x, added, weight_, bias_, "add"});
}

torch::Tensor FusedLinear::once(const torch::Tensor& weight, const torch::Tensor& bias, const torch::Tensor& x) {
  return linear(x, weight.detach(), bias.detach(), "none", "");
}

}  // namespace l0gm
