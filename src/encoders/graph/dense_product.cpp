#include "encoders/graph/dense_product.h"

#include <ATen/Context.h>
#include <ATen/Functions.h>
#include <torch/autograd.h>

#include "batches/graph/suppress_torch_warnings.h"

namespace l0gm {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// cuBLAS may round to tf32 as long as it lives.
class AllowTf32 {
 public:
  AllowTf32() : before_(at::globalContext().allowTF32CuBLAS()) { at::globalContext().setAllowTF32CuBLAS(true); }
  AllowTf32(const AllowTf32&) = delete;
  AllowTf32& operator=(const AllowTf32&) = delete;
  ~AllowTf32() { at::globalContext().setAllowTF32CuBLAS(before_); }

 private:
  SuppressTorchWarnings suppress_;  // of a newer name for the same switch
  bool before_;
};

// a and b as they are stored: bfloat16 for that precision, else float32.
torch::Tensor product(const torch::Tensor& a, const torch::Tensor& b, Matmul precision, torch::Dtype result) {
  if (precision == Matmul::bfloat16) return a.is_cuda() ? at::mm(a, b, result) : at::mm(a, b).to(result);
  const AllowTf32 allow;
  return at::mm(a, b);
}

struct DenseProduct : torch::autograd::Function<DenseProduct> {
  static torch::Tensor forward(AutogradContext* context, const torch::Tensor& a, const torch::Tensor& b, int64_t precision) {
    const auto kind = static_cast<Matmul>(precision);
    const auto stored = [&](const torch::Tensor& x) { return kind == Matmul::bfloat16 ? x.to(torch::kBFloat16) : x; };
    const torch::Tensor left = stored(a), right = stored(b);
    context->save_for_backward({left, right});
    context->saved_data["precision"] = precision;
    context->saved_data["result"] = static_cast<int64_t>(a.scalar_type());
    return product(left, right, kind, a.scalar_type());
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const auto saved = context->get_saved_variables();
    const auto kind = static_cast<Matmul>(context->saved_data["precision"].toInt());
    const auto result = static_cast<torch::Dtype>(context->saved_data["result"].toInt());
    const torch::Tensor given = kind == Matmul::bfloat16 ? gradients[0].to(torch::kBFloat16) : gradients[0];
    variable_list made(3);
    if (context->needs_input_grad(0)) made[0] = product(given, saved[1].t(), kind, result);
    if (context->needs_input_grad(1)) made[1] = product(saved[0].t(), given, kind, result);
    return made;
  }
};

}  // namespace

torch::Tensor dense_product(const torch::Tensor& a, const torch::Tensor& b, Matmul precision, const torch::Tensor& onto) {
  if (precision == Matmul::float32) return onto.defined() ? at::addmm(onto, a, b) : at::mm(a, b);
  TORCH_CHECK(a.scalar_type() == torch::kFloat32, "products in another precision are of float32, not of ", a.scalar_type());
  const torch::Tensor y = DenseProduct::apply(a, b, static_cast<int64_t>(precision));
  return onto.defined() ? y + onto : y;
}

}  // namespace l0gm
