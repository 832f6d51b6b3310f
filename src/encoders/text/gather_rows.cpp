#include "encoders/text/gather_rows.h"

#include <ATen/Functions.h>
#include <torch/autograd.h>

#ifdef L0GM_HAS_CUDA
#include "encoders/text/cuda/sum_by_key.h"
#include "gate/cuda/stream.h"
#endif

namespace l0gm {

#ifdef L0GM_HAS_CUDA

namespace {

class GatherRows : public torch::autograd::Function<GatherRows> {
 public:
  static torch::Tensor forward(torch::autograd::AutogradContext* context, const torch::Tensor& rows, const torch::Tensor& index) {
    context->save_for_backward({index});
    context->saved_data["rows"] = rows.size(0);
    return rows.index_select(0, index);
  }
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 const torch::autograd::variable_list& gradients) {
    const torch::Tensor grad = gradients[0].contiguous();
    const auto [keys, order] = at::sort(context->get_saved_variables()[0], /*stable=*/std::optional<bool>(true), 0, false);
    torch::Tensor sums = at::zeros({context->saved_data["rows"].toInt(), grad.size(1)}, grad.options());
    cuda::sum_by_key(keys.const_data_ptr<int64_t>(), order.const_data_ptr<int64_t>(), keys.size(0), grad.const_data_ptr<float>(),
                     grad.size(1), sums.data_ptr<float>(), cuda::current_stream(grad.device().index()));
    cuda::check_launch();
    return {sums, {}};
  }
};

}  // namespace

torch::Tensor gather_rows(const torch::Tensor& rows, const torch::Tensor& index) {
  if (rows.is_cuda() && rows.scalar_type() == torch::kFloat32) return GatherRows::apply(rows, index);
  return at::embedding(rows, index);
}

#else

torch::Tensor gather_rows(const torch::Tensor& rows, const torch::Tensor& index) { return at::embedding(rows, index); }

#endif

}  // namespace l0gm
