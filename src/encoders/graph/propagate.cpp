#include "encoders/graph/propagate.h"

#include <ATen/Functions.h>

#include "encoders/graph/row_product.h"
#include "encoders/graph/saved_value.h"

namespace l0gm {

namespace {

struct Propagation {
  std::shared_ptr<const Adjacency> adjacency;
  MessageScales scales;
  bool bfloat16;

  // In the backward pass the matrix is transposed and the factors of targets and sources are swapped; those of the targets' own
  // rows stay the same.
  torch::Tensor of(const torch::Tensor& x, bool back) const {
    RowProduct product;
    product.transposed = back;
    product.target = back ? scales.source : scales.target;
    product.source = back ? scales.target : scales.source;
    product.self = scales.self;
    const torch::Tensor rows = x.unsqueeze(1);
    return (bfloat16 ? row_product_bfloat16(*adjacency, product, rows) : row_product(*adjacency, product, rows)).squeeze(1);
  }
};

struct Propagate : torch::autograd::Function<Propagate> {
  static torch::Tensor forward(torch::autograd::AutogradContext* context, const torch::Tensor& x,
                               const Propagation& propagation) {
    save_value(context, propagation);
    return propagation.of(x, false);
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list gradients) {
    return {saved_value<Propagation>(context).of(gradients[0].contiguous(), true), {}};
  }
};

// A vector of constants as the kernels read it. One that requires a gradient is refused: its gradient would be lost silently.
torch::Tensor constant(const torch::Tensor& factors, int64_t size, const char* name) {
  if (!factors.defined()) return factors;
  TORCH_CHECK(factors.dim() == 1 && factors.size(0) == size, "the ", name, " factors of a propagation are ", size, " numbers");
  TORCH_CHECK(!factors.requires_grad(), "the ", name, " factors of a propagation are constants");
  return factors.contiguous();
}

}  // namespace

torch::Tensor propagate(const std::shared_ptr<const Adjacency>& adjacency, const torch::Tensor& x, const MessageScales& scales,
                        bool bfloat16) {
  TORCH_CHECK(x.dim() == 2 && x.size(0) == adjacency->sources(), "a block of ", adjacency->sources(),
              " sources cannot read rows ", x.sizes());
  const int64_t targets = adjacency->targets();
  const MessageScales checked = {constant(scales.target, targets, "target"),
                                 constant(scales.source, adjacency->sources(), "source"), constant(scales.self, targets, "self")};
  return Propagate::apply(x.contiguous(), Propagation{adjacency, checked, bfloat16});
}

}  // namespace l0gm
