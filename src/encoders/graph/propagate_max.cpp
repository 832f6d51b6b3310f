#include "encoders/graph/propagate_max.h"

#include <ATen/Functions.h>

#include <algorithm>
#include <limits>

#include "batches/graph/row_parts.h"
#include "encoders/graph/edge_tensors.h"
#include "encoders/graph/row_kernels.h"
#include "encoders/graph/saved_value.h"

namespace l0gm {

namespace {

template <class T>
Largest by_kernels(const Adjacency& adjacency, const torch::Tensor& x) {
  const int64_t width = x.size(1);
  Largest largest;
  largest.values = at::empty({adjacency.targets(), width}, x.options());
  largest.sources = at::empty({adjacency.targets(), width}, x.options().dtype(torch::kInt32));
  const auto* offsets = adjacency.offsets.const_data_ptr<int64_t>();
  const auto* neighbours = adjacency.neighbours.const_data_ptr<int32_t>();
  const T* all = x.const_data_ptr<T>();
  T* values = largest.values.data_ptr<T>();
  auto* sources = largest.sources.data_ptr<int32_t>();
  const RowKernels<T>& kernels = row_kernels<T>();
  for_rows(offsets, adjacency.targets(), width, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      T* best = values + row * width;
      int32_t* from = sources + row * width;
      const int64_t first = offsets[row], last = offsets[row + 1];
      std::fill_n(best, width, T(0));
      std::fill_n(from, width, -1);
      if (first == last) continue;
      std::copy_n(all + neighbours[first] * width, width, best);
      std::fill_n(from, width, neighbours[first]);
      for (int64_t edge = first + 1; edge < last; ++edge) {
        kernels.take_larger({best, from, all + neighbours[edge] * width, neighbours[edge], width});
      }
    }
  });
  return largest;
}

// Every source sums over its targets: no two threads write the same row, and the order of the sums is fixed.
template <class T>
torch::Tensor back_by_kernels(const Adjacency& adjacency, const torch::Tensor& taken, const torch::Tensor& gradient) {
  const Adjacency::Transposed& transposed = adjacency.transposed();
  const int64_t width = gradient.size(1);
  torch::Tensor result = at::zeros({adjacency.sources(), width}, gradient.options());
  const auto* offsets = transposed.offsets.const_data_ptr<int64_t>();
  const auto* neighbours = transposed.neighbours.const_data_ptr<int32_t>();
  const auto* from = taken.const_data_ptr<int32_t>();
  const T* given = gradient.const_data_ptr<T>();
  T* sums = result.data_ptr<T>();
  const RowKernels<T>& kernels = row_kernels<T>();
  for_rows(offsets, adjacency.sources(), width, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      T* sum = sums + row * width;
      for (int64_t edge = offsets[row]; edge < offsets[row + 1]; ++edge) {
        const int64_t target = neighbours[edge];
        if (edge > offsets[row] && target == neighbours[edge - 1]) continue;  // an edge sampled twice: the maximum counts once
        kernels.add_taken({sum, given + target * width, from + target * width, static_cast<int32_t>(row), width});
      }
    }
  });
  return result;
}

struct PropagateMax : torch::autograd::Function<PropagateMax> {
  static torch::Tensor forward(torch::autograd::AutogradContext* context, const torch::Tensor& x,
                               const std::shared_ptr<const Adjacency>& adjacency) {
    const Largest largest = x.is_cpu() ? largest_by_kernels(*adjacency, x) : largest_by_tensors(*adjacency, x);
    save_value(context, adjacency);
    context->save_for_backward({largest.sources});
    return largest.values;
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list gradients) {
    const auto adjacency = saved_value<std::shared_ptr<const Adjacency>>(context);
    const torch::Tensor taken = context->get_saved_variables()[0], gradient = gradients[0].contiguous();
    return {gradient.is_cpu() ? largest_back_by_kernels(*adjacency, taken, gradient)
                              : largest_back_by_tensors(*adjacency, taken, gradient),
            {}};
  }
};

}  // namespace

Largest largest_by_kernels(const Adjacency& adjacency, const torch::Tensor& x) {
  return x.scalar_type() == torch::kFloat64 ? by_kernels<double>(adjacency, x) : by_kernels<float>(adjacency, x);
}

torch::Tensor largest_back_by_kernels(const Adjacency& adjacency, const torch::Tensor& taken, const torch::Tensor& gradient) {
  return gradient.scalar_type() == torch::kFloat64 ? back_by_kernels<double>(adjacency, taken, gradient)
                                                   : back_by_kernels<float>(adjacency, taken, gradient);
}

Largest largest_by_tensors(const Adjacency& adjacency, const torch::Tensor& x) {
  const int64_t width = x.size(1), none = std::numeric_limits<int64_t>::max();
  torch::Tensor values = at::full({adjacency.targets(), width}, -std::numeric_limits<double>::infinity(), x.options());
  torch::Tensor edges = at::full({adjacency.targets(), width}, none, x.options().dtype(torch::kInt64));
  for_edge_blocks(adjacency, 3 * width, [&](int64_t, int64_t, const torch::Tensor& targets, const torch::Tensor& sources) {
    values.index_reduce_(0, targets, x.index_select(0, sources), "amax", true);
  });
  // The first edge that has the largest value; if that is NaN, no edge compares equal to it.
  for_edge_blocks(adjacency, 5 * width,
                  [&](int64_t begin, int64_t end, const torch::Tensor& targets, const torch::Tensor& sources) {
                    const torch::Tensor is_largest = x.index_select(0, sources).eq(values.index_select(0, targets));
                    const torch::Tensor numbers = at::arange(begin, end, targets.options()).unsqueeze(1);
                    edges.index_reduce_(0, targets, at::where(is_largest, numbers, at::full({1}, none, targets.options())),
                                        "amin", true);
                  });
  const torch::Tensor has_edges = adjacency.offsets.diff().gt(0).unsqueeze(1), found = edges.ne(none);
  values = at::where(has_edges, values, at::zeros({1}, x.options()));
  if (adjacency.edges() == 0) return {values, at::full_like(edges, -1).to(torch::kInt32)};
  const torch::Tensor places = at::where(found, edges, at::zeros({1}, edges.options()));
  const torch::Tensor sources = adjacency.neighbours.index_select(0, places.view(-1)).view_as(edges);
  return {values, at::where(found, sources, at::full({1}, -1, sources.options()))};
}

torch::Tensor largest_back_by_tensors(const Adjacency& adjacency, const torch::Tensor& taken, const torch::Tensor& gradient) {
  torch::Tensor result = at::zeros({adjacency.sources(), gradient.size(1)}, gradient.options());
  if (adjacency.sources() == 0) return result;
  return result.scatter_add_(0, taken.clamp_min(0).to(torch::kInt64), gradient * taken.ge(0).to(gradient.scalar_type()));
}

torch::Tensor propagate_max(const std::shared_ptr<const Adjacency>& adjacency, const torch::Tensor& x) {
  TORCH_CHECK(x.dim() == 2 && x.size(0) == adjacency->sources(), "a block of ", adjacency->sources(),
              " sources cannot read rows ", x.sizes());
  return PropagateMax::apply(x.contiguous(), adjacency);
}

}  // namespace l0gm
