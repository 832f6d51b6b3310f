#include "heads/member_layers.h"

#include <ATen/Dispatch.h>
#include <ATen/ExpandUtils.h>
#include <ATen/Functions.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "base/random.h"
#include "gate/in_parallel.h"
#include "gate/saved_key.h"
#include "heads/member_kernels.h"

namespace l0gm {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

constexpr int64_t columns_at_a_time = 256;  // of a way back: their sums stay in the first cache

// Calls work(begin, end) for ranges of columns, in torch's threads.
template <class Work>
void over_columns(int64_t columns, int64_t rows, const Work& work) {
  const int64_t chunks = (columns + columns_at_a_time - 1) / columns_at_a_time;
  const int64_t parts = std::min(chunks, worthwhile_parts(columns * rows * 4));
  in_parallel(parts, [&](int64_t part) {
    for (int64_t chunk = chunks * part / parts; chunk < chunks * (part + 1) / parts; ++chunk) {
      work(chunk * columns_at_a_time, std::min(columns, (chunk + 1) * columns_at_a_time));
    }
  });
}

// a * b in the plain order of their common shape: on its own the library may choose another order.
torch::Tensor multiplied(const torch::Tensor& a, const torch::Tensor& b) {
  torch::Tensor out = at::empty(at::infer_size(a.sizes(), b.sizes()), a.options());
  return at::mul_out(out, a, b);
}

// Inputs times factors, when examples are fewer than the layer's outputs.
struct ProductOfScaledInputs : torch::autograd::Function<ProductOfScaledInputs> {
  static torch::Tensor forward(AutogradContext* context, const torch::Tensor& x, const torch::Tensor& factors,
                               const torch::Tensor& weight) {
    const torch::Tensor scaled = multiplied(x.unsqueeze(1), factors).view({-1, weight.size(0)});
    context->save_for_backward({x, factors, weight, scaled});
    return at::mm(scaled, weight).view({x.size(0), factors.size(0), weight.size(1)});
  }
  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const auto saved = context->get_saved_variables();
    const torch::Tensor &x = saved[0], &factors = saved[1], &weight = saved[2], &scaled = saved[3];
    const torch::Tensor gradient = gradients[0].reshape({-1, weight.size(1)});
    const torch::Tensor to_scaled = at::mm(gradient, weight.t());
    torch::Tensor to_x = at::empty_like(x), to_factors = at::zeros_like(factors);
    AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "inputs_back", [&] {
      MemberInputsBack<scalar_t> back;
      back.rows = x.size(0);
      back.members = factors.size(0);
      back.width = x.size(1);
      back.x = x.const_data_ptr<scalar_t>();
      back.factors = factors.const_data_ptr<scalar_t>();
      back.gradient = to_scaled.const_data_ptr<scalar_t>();
      back.to_x = to_x.data_ptr<scalar_t>();
      back.to_factors = to_factors.data_ptr<scalar_t>();
      over_columns(back.width, back.rows * back.members,
                   [&](int64_t begin, int64_t end) { member_kernels<scalar_t>().inputs_back(back, begin, end); });
    });
    return {to_x, to_factors, at::mm(scaled.t(), gradient)};
  }
};

// Weights times factors, [width, members, out], when examples are many: nothing as large as examples times members times width is
// ever made.
struct ProductOfScaledWeights : torch::autograd::Function<ProductOfScaledWeights> {
  static torch::Tensor forward(AutogradContext* context, const torch::Tensor& x, const torch::Tensor& factors,
                               const torch::Tensor& weight) {
    const torch::Tensor all = multiplied(weight.unsqueeze(1), factors.t().unsqueeze(2)).view({weight.size(0), -1});
    context->save_for_backward({x, factors, weight, all});
    return at::mm(x, all).view({x.size(0), factors.size(0), weight.size(1)});
  }
  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const auto saved = context->get_saved_variables();
    const torch::Tensor &x = saved[0], &factors = saved[1], &weight = saved[2], &all = saved[3];
    const torch::Tensor gradient = gradients[0].reshape({x.size(0), -1});
    const torch::Tensor to_x = at::mm(gradient, all.t());
    const torch::Tensor to_all = at::mm(x.t(), gradient).view({weight.size(0), factors.size(0), weight.size(1)});
    if (!x.is_cpu()) {
      const torch::Tensor to_factors = at::bmm(to_all, weight.unsqueeze(2)).squeeze(2).t();
      return {to_x, to_factors, at::bmm(factors.t().unsqueeze(1), to_all).squeeze(1)};
    }
    torch::Tensor to_weight = at::empty_like(weight), to_factors = at::empty_like(factors);
    AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "weights_back", [&] {
      MemberWeightsBack<scalar_t> back;
      back.rows = weight.size(0);
      back.members = factors.size(0);
      back.width = weight.size(1);
      back.weight = weight.const_data_ptr<scalar_t>();
      back.factors = factors.const_data_ptr<scalar_t>();
      back.gradient = to_all.const_data_ptr<scalar_t>();
      back.to_weight = to_weight.data_ptr<scalar_t>();
      back.to_factors = to_factors.data_ptr<scalar_t>();
      const int64_t parts = std::min(back.rows, worthwhile_parts(to_all.numel() * 2));
      in_parallel(parts, [&](int64_t part) {
        member_kernels<scalar_t>().weights_back(back, back.rows * part / parts, back.rows * (part + 1) / parts);
      });
    });
    return {to_x, to_factors, to_weight};
  }
};

template <class T>
MemberActivation<T> activation_of(const torch::Tensor& scale, const torch::Tensor& bias, const torch::Tensor& next,
                                  double share) {
  MemberActivation<T> activation;
  activation.count = scale.numel();
  activation.scale = scale.const_data_ptr<T>();
  activation.bias = bias.const_data_ptr<T>();
  activation.next = next.defined() ? next.const_data_ptr<T>() : nullptr;
  activation.share = static_cast<float>(share);
  activation.kept_scale = static_cast<T>(1 / (1 - share));
  return activation;
}

void activate_rows(const torch::Tensor& z, const torch::Tensor& scale, const torch::Tensor& bias, const torch::Tensor& next,
                   double share, uint64_t key, const torch::Tensor& ids, torch::Tensor& out) {
  const int64_t rows = z.size(0), count = scale.numel();
  const int64_t parts = std::min(rows, worthwhile_parts(rows * count * (share > 0 ? 8 : 2)));
  AT_DISPATCH_FLOATING_TYPES(z.scalar_type(), "member_activation", [&] {
    const auto activation = activation_of<scalar_t>(scale, bias, next, share);
    const scalar_t* from = z.const_data_ptr<scalar_t>();
    scalar_t* to = out.data_ptr<scalar_t>();
    const int64_t* id = share > 0 ? ids.const_data_ptr<int64_t>() : nullptr;
    in_parallel(parts, [&](int64_t part) {
      std::vector<float> uniform(static_cast<size_t>(share > 0 ? count : 0));
      for (int64_t row = rows * part / parts; row < rows * (part + 1) / parts; ++row) {
        if (share > 0) fill_uniform(key, id + row, 1, count, uniform.data());
        member_kernels<scalar_t>().activate(activation, from + row * count, share > 0 ? uniform.data() : nullptr,
                                            to + row * count);
      }
    });
  });
}

struct Activation : torch::autograd::Function<Activation> {
  static torch::Tensor forward(AutogradContext* context, const torch::Tensor& z, const torch::Tensor& scale,
                               const torch::Tensor& bias, const std::optional<torch::Tensor>& given_next, double share,
                               int64_t key, const torch::Tensor& ids) {
    const torch::Tensor next = given_next.value_or(torch::Tensor{});
    torch::Tensor out = at::empty_like(z);
    activate_rows(z, scale, bias, next, share, static_cast<uint64_t>(key), ids, out);
    context->save_for_backward({z, scale, bias, next, out});
    context->saved_data["share"] = share;
    return out;
  }
  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const auto saved = context->get_saved_variables();
    const torch::Tensor &z = saved[0], &scale = saved[1], &bias = saved[2], &next = saved[3], &out = saved[4];
    const torch::Tensor gradient = gradients[0].contiguous();
    torch::Tensor to_z = at::empty_like(z), to_scale = at::zeros_like(scale), to_bias = at::zeros_like(bias), to_next;
    if (next.defined()) to_next = at::zeros_like(next);
    AT_DISPATCH_FLOATING_TYPES(z.scalar_type(), "member_activation_back", [&] {
      MemberActivationBack<scalar_t> back;
      back.of = activation_of<scalar_t>(scale, bias, next, context->saved_data["share"].toDouble());
      back.rows = z.size(0);
      back.z = z.const_data_ptr<scalar_t>();
      back.out = out.const_data_ptr<scalar_t>();
      back.gradient = gradient.const_data_ptr<scalar_t>();
      back.to_z = to_z.data_ptr<scalar_t>();
      back.to_scale = to_scale.data_ptr<scalar_t>();
      back.to_bias = to_bias.data_ptr<scalar_t>();
      back.to_next = next.defined() ? to_next.data_ptr<scalar_t>() : nullptr;
      over_columns(back.of.count, back.rows,
                   [&](int64_t begin, int64_t end) { member_kernels<scalar_t>().activate_back(back, begin, end); });
    });
    return {to_z, to_scale, to_bias, to_next, {}, {}, {}};
  }
};

struct Outputs : torch::autograd::Function<Outputs> {
  static torch::Tensor forward(AutogradContext* context, const torch::Tensor& x, const torch::Tensor& weights) {
    context->save_for_backward({x, weights});
    return at::bmm(x.transpose(0, 1), weights).transpose(0, 1);
  }
  // Gradients in the order of examples first: a batched product would give members first, and all of it would be copied.
  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const auto saved = context->get_saved_variables();
    const torch::Tensor &x = saved[0], &weights = saved[1], &gradient = gradients[0];
    const torch::Tensor to_weights = at::bmm(x.permute({1, 2, 0}), gradient.transpose(0, 1));
    torch::Tensor to_x = multiplied(gradient.select(2, 0).unsqueeze(2), weights.select(2, 0));
    for (int64_t o = 1; o < weights.size(2); ++o) to_x.addcmul_(gradient.select(2, o).unsqueeze(2), weights.select(2, o));
    return {to_x, to_weights};
  }
};

}  // namespace

torch::Tensor first_product(const torch::Tensor& x, const torch::Tensor& factors, const torch::Tensor& weight) {
  const bool few_examples = x.is_cpu() && x.size(0) < weight.size(1);
  return few_examples ? ProductOfScaledInputs::apply(x.contiguous(), factors, weight)
                      : ProductOfScaledWeights::apply(x.contiguous(), factors, weight);
}

torch::Tensor shared_product(const torch::Tensor& x, const torch::Tensor& weight) {
  return at::mm(x.view({-1, weight.size(0)}), weight).view({x.size(0), x.size(1), weight.size(1)});
}

torch::Tensor member_activation_by_tensors(const torch::Tensor& z, const torch::Tensor& scale, const torch::Tensor& bias,
                                           const torch::Tensor& next, const MemberDropout& dropout, const GatePass& pass) {
  torch::Tensor x = at::relu(at::addcmul(bias, z, scale));
  if (dropout.share > 0) x = pass.dropout(x, dropout.share, dropout.place, dropout.ids);
  return next.defined() ? x * next : x;
}

torch::Tensor member_activation(const torch::Tensor& z, const torch::Tensor& scale, const torch::Tensor& bias,
                                const torch::Tensor& next, const MemberDropout& dropout, const GatePass& pass) {
  if (!z.is_cpu()) return member_activation_by_tensors(z, scale, bias, next, dropout, pass);
  const uint64_t key = dropout.share > 0 ? key_now(pass.dropout_key(dropout.place)) : 0;
  const torch::Tensor ids =
      dropout.share > 0 ? dropout.ids.to(torch::kCPU, torch::kInt64).contiguous() : at::empty({0}, torch::kInt64);
  if (torch::GradMode::is_enabled()) {
    const std::optional<torch::Tensor> given_next = next.defined() ? std::optional(next) : std::nullopt;
    return Activation::apply(z.contiguous(), scale, bias, given_next, dropout.share, static_cast<int64_t>(key), ids);
  }
  torch::Tensor out = z.contiguous();
  activate_rows(out, scale, bias, next, dropout.share, key, ids, out);
  return out;
}

torch::Tensor member_outputs(const torch::Tensor& x, const torch::Tensor& weights) { return Outputs::apply(x, weights); }

}  // namespace l0gm
