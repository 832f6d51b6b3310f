#include "heads/largest_gates.h"

#include <ATen/Functions.h>
#include <torch/autograd.h>

#include <algorithm>

#include "gate/in_parallel.h"

namespace l0gm {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// Calls work(row) for all rows in torch's threads.
template <class Work>
void for_each_row(int64_t rows, int64_t width, const Work& work) {
  const int64_t parts = std::min(rows, worthwhile_parts(rows * width * 2));
  in_parallel(parts, [&](int64_t part) {
    for (int64_t row = rows * part / parts; row < rows * (part + 1) / parts; ++row) work(row);
  });
}

struct LargestGates : torch::autograd::Function<LargestGates> {
  static torch::Tensor forward(AutogradContext* context, const torch::Tensor& gates, const torch::Tensor& source_of,
                               int64_t sources) {
    const int64_t rows = gates.size(0), width = gates.size(1);
    torch::Tensor largest = at::zeros({rows, sources}, gates.options().requires_grad(false));
    const float* from = gates.const_data_ptr<float>();
    const auto* source = source_of.const_data_ptr<int64_t>();
    float* to = largest.data_ptr<float>();
    for_each_row(rows, width, [&](int64_t row) {
      const float* given = from + row * width;
      float* best = to + row * sources;
      for (int64_t j = 0; j < width; ++j) best[source[j]] = std::max(best[source[j]], given[j]);
    });
    context->save_for_backward({gates, source_of, largest});
    return largest;
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const auto saved = context->get_saved_variables();
    const torch::Tensor &gates = saved[0], &largest = saved[2], of_largest = gradients[0].contiguous();
    const int64_t rows = gates.size(0), width = gates.size(1), sources = largest.size(1);
    torch::Tensor of_gates = at::empty_like(gates);
    const float *from = gates.const_data_ptr<float>(), *best = largest.const_data_ptr<float>(),
                *given = of_largest.const_data_ptr<float>();
    const auto* source = saved[1].const_data_ptr<int64_t>();
    float* to = of_gates.data_ptr<float>();
    for_each_row(rows, width, [&](int64_t row) {
      const float *gate = from + row * width, *top = best + row * sources, *gradient = given + row * sources;
      float* out = to + row * width;
      thread_local std::vector<float> count;  // of each source's gates that are the largest
      count.assign(static_cast<size_t>(sources), 0.0F);
      for (int64_t j = 0; j < width; ++j) count[static_cast<size_t>(source[j])] += gate[j] == top[source[j]] ? 1.0F : 0.0F;
      for (int64_t j = 0; j < width; ++j)
        out[j] = gate[j] == top[source[j]] ? gradient[source[j]] / count[static_cast<size_t>(source[j])] : 0.0F;
    });
    return {of_gates, {}, {}};
  }
};

}  // namespace

torch::Tensor largest_gates(const torch::Tensor& gates, const torch::Tensor& source_of_dimension, int64_t sources) {
  TORCH_CHECK(gates.is_cpu() && gates.scalar_type() == torch::kFloat32 && gates.size(1) == source_of_dimension.size(0),
              "largest_gates: float32 on the processor, a source for each dimension");
  return LargestGates::apply(gates.contiguous(), source_of_dimension, sources);
}

}  // namespace l0gm
