#include "heads/cin.h"

#include <ATen/Functions.h>
#include <fmt/format.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <cmath>

#include "heads/cin_blocks.h"

namespace l0gm {

namespace {

// On other devices: products of a few fields at a time, enough columns for a fast matrix product, little memory.
int64_t fields_at_a_time(int64_t previous) { return std::max<int64_t>(1, 128 / previous); }

// previous[e, i] * base[e, j] for j in [begin, begin + count): [elements, count * H'].
torch::Tensor products(const torch::Tensor& previous, const torch::Tensor& base, int64_t begin, int64_t count) {
  return (base.narrow(1, begin, count).unsqueeze(2) * previous.unsqueeze(1)).view({previous.size(0), count * previous.size(1)});
}

// The products are computed again in the backward pass rather than saved.
struct CinLayer : torch::autograd::Function<CinLayer> {
  static torch::Tensor forward(torch::autograd::AutogradContext* context, const torch::Tensor& previous,
                               const torch::Tensor& base, const torch::Tensor& weight) {
    context->save_for_backward({previous, base, weight});
    if (previous.is_cpu()) return cin_forward(previous, base, weight);
    const int64_t fields = weight.size(0), maps = weight.size(1), step = fields_at_a_time(maps);
    torch::Tensor out = at::zeros({previous.size(0), weight.size(2)}, previous.options());
    for (int64_t j = 0; j < fields; j += step) {
      const int64_t count = std::min(step, fields - j);
      out.addmm_(products(previous, base, j, count), weight.narrow(0, j, count).reshape({count * maps, -1}));
    }
    return out;
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list gradients) {
    const auto saved = context->get_saved_variables();
    const torch::Tensor &previous = saved[0], &base = saved[1], &weight = saved[2];
    const torch::Tensor gradient = gradients[0].contiguous();
    if (previous.is_cpu()) {
      const CinGradients to = cin_backward(previous, base, weight, gradient);
      return {to.previous, to.base, to.weight};
    }
    const int64_t fields = weight.size(0), maps = weight.size(1), step = fields_at_a_time(maps);
    torch::Tensor to_previous = at::zeros_like(previous), to_base = at::empty_like(base), to_weight = at::empty_like(weight);
    for (int64_t j = 0; j < fields; j += step) {
      const int64_t count = std::min(step, fields - j);
      const torch::Tensor part = weight.narrow(0, j, count).reshape({count * maps, -1});
      to_weight.narrow(0, j, count).copy_(at::mm(products(previous, base, j, count).t(), gradient).view({count, maps, -1}));
      const torch::Tensor back = at::mm(gradient, part.t()).view({-1, count, maps});
      to_previous.add_(at::bmm(base.narrow(1, j, count).unsqueeze(1), back).squeeze(1));
      to_base.narrow(1, j, count).copy_(at::bmm(back, previous.unsqueeze(2)).squeeze(2));
    }
    return {to_previous, to_base, to_weight};
  }
};

}  // namespace

torch::Tensor cin_layer(const torch::Tensor& previous, const torch::Tensor& base, const torch::Tensor& weight) {
  return CinLayer::apply(previous.contiguous(), base.contiguous(), weight.contiguous());
}

CinHead::CinHead(HeadShape shape, const std::vector<int64_t>& maps, int64_t rank) : shape_(shape), maps_(maps), rank_(rank) {
  int64_t before = shape.fields, all = 0;
  for (size_t k = 0; k < maps.size(); ++k) {
    // Initialised so that maps are about as large as their inputs.
    const double deviation = 1 / std::sqrt(static_cast<double>(before * shape.fields));
    if (rank == 0) {
      weights_.push_back(register_parameter(fmt::format("weight{}", k), at::randn({shape.fields, before, maps[k]}) * deviation));
    } else {
      const double each = std::sqrt(deviation / std::sqrt(static_cast<double>(rank)));
      left_.push_back(register_parameter(fmt::format("left{}", k), at::randn({before, maps[k] * rank}) * each));
      right_.push_back(register_parameter(fmt::format("right{}", k), at::randn({shape.fields, maps[k] * rank}) * each));
    }
    before = maps[k];
    all += maps[k];
  }
  const double bound = 1 / std::sqrt(static_cast<double>(all));
  output_ = register_parameter("output", at::empty({all, shape.members * shape.outputs}).uniform_(-bound, bound));
}

torch::Tensor CinHead::full_weights(size_t depth) const {
  if (rank_ == 0) return weights_[depth];
  const torch::Tensor left = left_[depth].view({-1, maps_[depth], rank_}), right = right_[depth].view({-1, maps_[depth], rank_});
  return at::einsum("ihl,jhl->jih", {left, right});
}

torch::Tensor CinHead::by_coordinate(const torch::Tensor& interface) const {
  return shape_.embeddings(interface).transpose(1, 2).reshape({interface.size(0) * shape_.width, shape_.fields});
}

torch::Tensor CinHead::pooled_of(int64_t examples, const std::function<torch::Tensor(size_t)>& factor) const {
  torch::Tensor previous = factor(0);
  std::vector<torch::Tensor> sums;
  for (size_t k = 0; k < maps_.size(); ++k) {
    const torch::Tensor base = factor(k + 1);
    previous = rank_ == 0 ? cin_layer(previous, base, weights_[k])
                          : (at::mm(previous, left_[k]) * at::mm(base, right_[k])).view({-1, maps_[k], rank_}).sum(2);
    sums.push_back(previous.view({examples, shape_.width, maps_[k]}).sum(1));
  }
  return at::cat(sums, 1);
}

torch::Tensor CinHead::pooled(const torch::Tensor& interface) const {
  const torch::Tensor base = by_coordinate(interface);
  return pooled_of(interface.size(0), [&](size_t) { return base; });
}

torch::Tensor CinHead::forward(const torch::Tensor& interface, const Batch&, GatePass&) {
  return at::mm(pooled(interface), output_).view({-1, shape_.members, shape_.outputs});
}

torch::Tensor CinHead::forward_dropping(const torch::Tensor& interface, double share, const Batch&, GatePass& pass) {
  const torch::Tensor maps = pooled_of(interface.size(0), [&](size_t k) {
    return by_coordinate(pass.dropout(interface, share, factor_dropout_place + static_cast<int64_t>(k)));
  });
  return at::mm(maps, output_).view({-1, shape_.members, shape_.outputs});
}

int64_t CinHead::parameters_with(const torch::Tensor& kept) const {
  const int64_t fields = shape_.fields_with(kept);
  int64_t count = output_.numel(), before = fields;
  for (const int64_t maps : maps_) {
    count += rank_ == 0 ? maps * before * fields : rank_ * maps * (before + fields);
    before = maps;
  }
  return count;
}

}  // namespace l0gm
