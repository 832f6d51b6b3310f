#include "gate/laplace_kernel.h"

#include <ATen/Functions.h>
#include <torch/csrc/autograd/custom_function.h>

#include <cmath>

namespace l0gm {

namespace {

torch::Tensor on_cpu(const torch::Tensor& values) { return values.detach().to(torch::kCPU, torch::kFloat64).contiguous(); }

// sums[i]: the kernel's sum over the sorted places strictly to the left of place i, or to the right of it. Equal places are one
// group.
void sums_beside(const double* places, const double* weights, int64_t count, double width, bool from_left, double* sums) {
  const int64_t step = from_left ? 1 : -1;
  double before = 0;
  for (int64_t i = 0; i < count;) {
    const int64_t first = from_left ? i : count - 1 - i;
    double group = 0;
    int64_t size = 0;
    do {
      sums[first + step * size] = before;
      group += weights[first + step * size];
      ++size;
    } while (i + size < count && places[first + step * size] == places[first]);
    i += size;
    if (i < count) before = (before + group) * std::exp(-std::abs(places[first + step * size] - places[first]) / width);
  }
}

struct LaplaceEnergy : torch::autograd::Function<LaplaceEnergy> {
  static torch::Tensor forward(torch::autograd::AutogradContext* context, const torch::Tensor& places,
                               const torch::Tensor& weights, double width) {
    const int64_t count = places.numel();
    const auto [sorted, order] = on_cpu(places).sort(/*stable=*/true, /*dim=*/0, /*descending=*/false);
    const torch::Tensor w = on_cpu(weights).index_select(0, order), left = at::zeros_like(sorted), right = at::zeros_like(sorted);
    const double *x = sorted.data_ptr<double>(), *g = w.data_ptr<double>();
    sums_beside(x, g, count, width, true, left.data_ptr<double>());
    sums_beside(x, g, count, width, false, right.data_ptr<double>());
    torch::Tensor all = left + right;  // and the equal ones, the place itself among them
    double* sums = all.data_ptr<double>();
    for (int64_t i = 0, end = 0; i < count; i = end) {
      double group = 0;
      for (end = i; end == i || (end < count && x[end] == x[i]); ++end) group += g[end];
      for (int64_t j = i; j < end; ++j) sums[j] += group;
    }
    const double pairs = static_cast<double>(count) * static_cast<double>(count);
    const auto unsorted = [&](const torch::Tensor& values) { return at::empty_like(values).index_copy_(0, order, values); };
    context->save_for_backward({unsorted(w * (right - left) * (2 / (width * pairs))).to(places.options()),
                                unsorted(all * (2 / pairs)).to(weights.options())});
    return (at::dot(w, all) / pairs).to(places.options());
  }
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 const torch::autograd::variable_list& gradient) {
    const auto saved = context->get_saved_variables();
    return {saved[0] * gradient[0], saved[1] * gradient[0], torch::Tensor()};
  }
};

}  // namespace

torch::Tensor laplace_energy(const torch::Tensor& places, const torch::Tensor& weights, double width) {
  return LaplaceEnergy::apply(places, weights, width);
}

}  // namespace l0gm
