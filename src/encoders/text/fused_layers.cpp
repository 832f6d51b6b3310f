#include "encoders/text/fused_layers.h"

#include <ATen/Functions.h>
#include <c10/core/InferenceMode.h>
#include <torch/autograd.h>

#include <cmath>
#include <stdexcept>

#include "encoders/text/packed_attention.h"
#ifdef L0GM_HAS_CUDA
#include "encoders/text/cuda/residual_norm.h"
#include "gate/cuda/stream.h"
#endif

namespace l0gm {

// The tensors that a layer learns, in the order in which gradients are returned.
struct LayerTensors {
  torch::Tensor qkv, qkv_bias, out, out_bias, first_norm, first_norm_bias, wide, wide_bias, narrow, narrow_bias, second_norm,
      second_norm_bias;
  static constexpr size_t count = 12;
  LayerTensors(const TransformerLayer& layer, const LayerWeights& of)
      : qkv(of.qkv),
        qkv_bias(of.qkv_bias),
        out(of.out),
        out_bias(of.out_bias),
        first_norm(layer.attention_norm->weight),
        first_norm_bias(layer.attention_norm->bias),
        wide(of.wide),
        wide_bias(of.wide_bias),
        narrow(of.narrow),
        narrow_bias(of.narrow_bias),
        second_norm(layer.feed_forward_norm->weight),
        second_norm_bias(layer.feed_forward_norm->bias) {}
  explicit LayerTensors(const TransformerLayer& layer) : LayerTensors(layer, layer.weights()) {}
  int64_t heads(int64_t head_width) const { return out.size(1) / head_width; }
  std::vector<torch::Tensor*> of_products() {
    return {&qkv, &qkv_bias, &out, &out_bias, &wide, &wide_bias, &narrow, &narrow_bias};
  }
  std::vector<torch::Tensor*> all() {
    return {&qkv,  &qkv_bias,  &out,    &out_bias,    &first_norm,  &first_norm_bias,
            &wide, &wide_bias, &narrow, &narrow_bias, &second_norm, &second_norm_bias};
  }
};

// Weights of products in bfloat16; norms stay as they are.
struct FusedLayers::RoundedWeights {
  explicit RoundedWeights(const std::vector<std::shared_ptr<TransformerLayer>>& given) {
    for (const auto& layer : given) layers.emplace_back(*layer);
    for (LayerTensors& layer : layers) {
      for (torch::Tensor* tensor : layer.of_products()) from.push_back(*tensor);
    }
  }

  // Where numbers lie and how often they were written.
  std::vector<std::pair<const void*, uint32_t>> state() const {
    std::vector<std::pair<const void*, uint32_t>> result;
    for (const torch::Tensor& tensor : from)
      result.emplace_back(tensor.const_data_ptr(), tensor.is_inference() ? 0 : tensor._version());
    return result;
  }

  void update() {
    const auto now = state();
    if (now == rounded_state) return;
    const c10::InferenceMode ordinary(false);  // passes with gradient use them, too
    torch::NoGradGuard no_grad;
    bool fit = !to.empty() && to[0].device() == from[0].device();
    for (size_t i = 0; fit && i < from.size(); ++i) fit = to[i].sizes() == from[i].sizes();
    if (!fit) {
      to.clear();
      for (const torch::Tensor& tensor : from) to.push_back(at::empty_like(tensor, torch::kBFloat16));
      auto next = to.begin();
      for (LayerTensors& layer : layers) {
        for (torch::Tensor* tensor : layer.of_products()) *tensor = *next++;
      }
    }
    at::_foreach_copy_(to, from);
    rounded_state = now;
  }

  std::vector<LayerTensors> layers;
  std::vector<torch::Tensor> from, to;
  std::vector<std::pair<const void*, uint32_t>> rounded_state;
};

FusedLayers::FusedLayers(const TransformerConfig& config, std::vector<std::shared_ptr<TransformerLayer>> layers)
    : config_(config), layers_(std::move(layers)), rounded_(std::make_unique<RoundedWeights>(layers_)) {}
FusedLayers::~FusedLayers() = default;

#ifndef L0GM_HAS_CUDA

bool FusedLayers::serves(const torch::Tensor&, const LayerPass&) const { return false; }
bool FusedLayers::fits(int64_t, const LayerGates&) const { return false; }

torch::Tensor FusedLayers::forward(const torch::Tensor&, const LayerPass&, int64_t, int64_t,
                                   const std::vector<LayerGates>&) const {
  throw std::logic_error("FusedLayers: built without CUDA");
}

#else

namespace {

// What the gradient of a layer reads.
struct KeptOfLayer {
  torch::Tensor x, qkv, attended, log_sums, random_state, unused, first_sum, first_moments, y, wide, active, second_sum,
      second_moments;
};

struct States {
  torch::Tensor whole, half;  // float, bfloat16; one may be undefined
};

// A pass through some layers; holds all that its gradient needs.
struct LayersPass : torch::CustomClassHolder {
  TransformerConfig config;
  std::vector<LayerTensors> weights;
  SequenceRows texts;
  torch::Tensor ids;  // undefined: no dropout
  struct Keys {
    uint64_t attention, after_attention, after_feed_forward;
  };
  std::vector<Keys> keys;
  std::vector<KeptOfLayer> kept;  // empty: no gradient is wanted

  double scale() const { return 1 / std::sqrt(static_cast<double>(config.head_width())); }
  double attention_dropout() const { return ids.defined() ? config.attention_dropout : 0; }
  cuda::RowDropout dropout(uint64_t key) const {
    if (!ids.defined() || config.hidden_dropout <= 0) return {};
    return {ids.data_ptr<int64_t>(), key, static_cast<float>(config.hidden_dropout)};
  }
};

const __nv_bfloat16* half_numbers(const torch::Tensor& tensor) {
  return tensor.defined() ? reinterpret_cast<const __nv_bfloat16*>(tensor.const_data_ptr<at::BFloat16>()) : nullptr;
}
__nv_bfloat16* half_room(const torch::Tensor& tensor) {
  return tensor.defined() ? reinterpret_cast<__nv_bfloat16*>(tensor.data_ptr<at::BFloat16>()) : nullptr;
}
const float* numbers(const torch::Tensor& tensor) { return tensor.defined() ? tensor.const_data_ptr<float>() : nullptr; }
float* room(const torch::Tensor& tensor) { return tensor.defined() ? tensor.data_ptr<float>() : nullptr; }

// Layer norm of x + dropped(y). `sum` and `moments` are filled for the gradient when they are given.
States norm_of_sum(const LayersPass& pass, const States& x, const torch::Tensor& y, const torch::Tensor& weight,
                   const torch::Tensor& bias, uint64_t key, bool want_whole, bool want_half, torch::Tensor* sum,
                   torch::Tensor* moments) {
  cuda::ResidualNorm norm;
  norm.rows = y.size(0), norm.width = y.size(1), norm.epsilon = static_cast<float>(pass.config.norm_epsilon);
  norm.x = numbers(x.whole), norm.x_half = x.whole.defined() ? nullptr : half_numbers(x.half), norm.y = half_numbers(y);
  norm.dropout = pass.dropout(key);
  norm.weight = numbers(weight), norm.bias = numbers(bias);
  States out;
  if (want_whole) out.whole = at::empty(y.sizes(), y.options().dtype(torch::kFloat32));
  if (want_half) out.half = at::empty_like(y);
  if (sum != nullptr) {
    *sum = at::empty(y.sizes(), y.options().dtype(torch::kFloat32));
    *moments = at::empty({norm.rows, 2}, sum->options());
    norm.sum = room(*sum), norm.moments = room(*moments);
  }
  norm.out = room(out.whole), norm.out_half = half_room(out.half);
  cuda::residual_norm(norm, cuda::current_stream(y.device().index()));
  cuda::check_launch();
  return out;
}

torch::Tensor activate(const torch::Tensor& x, Activation activation) {
  if (activation == Activation::relu) return at::relu(x);
  return at::gelu(x, activation == Activation::gelu_tanh ? "tanh" : "none");
}

torch::Tensor activation_gradient(const torch::Tensor& grad, const torch::Tensor& x, Activation activation) {
  if (activation == Activation::relu) return at::threshold_backward(grad, x, 0);
  return at::gelu_backward(grad, x, activation == Activation::gelu_tanh ? "tanh" : "none");
}

// x has both precisions while a gradient is wanted, and so has the result; else bfloat16 alone, and the last layer float alone.
States forward_layer(LayersPass& pass, size_t layer, const States& x, bool last) {
  const LayerTensors& w = pass.weights[layer];
  const bool gradient = !pass.kept.empty();
  KeptOfLayer unkept, &kept = gradient ? pass.kept[layer] : unkept;
  const int64_t rows = x.half.size(0), width = pass.config.head_width(), heads = w.heads(width);
  kept.x = x.half;
  kept.qkv = at::addmm(w.qkv_bias, x.half, w.qkv.t());
  const torch::Tensor parts = kept.qkv.view({rows, 3, heads, width});
  if (pass.attention_dropout() > 0) seed_fused_dropout(x.half.device(), pass.keys[layer].attention);
  torch::Tensor debug;
  std::tie(kept.attended, kept.log_sums, kept.random_state, kept.unused, debug) =
      at::_flash_attention_forward(parts.select(1, 0), parts.select(1, 1), parts.select(1, 2), pass.texts.offsets,
                                   pass.texts.offsets, pass.texts.longest, pass.texts.longest, pass.attention_dropout(),
                                   /*is_causal=*/false, /*return_debug_mask=*/false, pass.scale());
  const torch::Tensor mixed = at::addmm(w.out_bias, kept.attended.reshape({rows, heads * width}), w.out.t());
  const States y = norm_of_sum(pass, x, mixed, w.first_norm, w.first_norm_bias, pass.keys[layer].after_attention, gradient, true,
                               gradient ? &kept.first_sum : nullptr, &kept.first_moments);
  kept.y = y.half;
  if (gradient || pass.config.activation == Activation::relu) {
    kept.wide = at::addmm(w.wide_bias, y.half, w.wide.t());
    kept.active = activate(kept.wide, pass.config.activation);
  } else {  // inside the product, by its tanh form: the two forms differ by less than bfloat16 tells apart
    kept.active = at::_addmm_activation(w.wide_bias, y.half, w.wide.t(), 1, 1, /*use_gelu=*/true);
  }
  const torch::Tensor narrow = at::addmm(w.narrow_bias, kept.active, w.narrow.t());
  return norm_of_sum(pass, y, narrow, w.second_norm, w.second_norm_bias, pass.keys[layer].after_feed_forward, gradient || last,
                     !last, gradient ? &kept.second_sum : nullptr, &kept.second_moments);
}

struct NormGradients {
  torch::Tensor x, y, weight, bias, columns_of_y;
};

NormGradients norm_gradient(const LayersPass& pass, const States& grad, const torch::Tensor& sum, const torch::Tensor& moments,
                            const torch::Tensor& weight, uint64_t key) {
  cuda::ResidualNormGradient norm;
  norm.rows = sum.size(0), norm.width = sum.size(1);
  norm.grad = numbers(grad.whole), norm.grad_half = half_numbers(grad.half);
  norm.sum = numbers(sum), norm.moments = numbers(moments), norm.weight = numbers(weight);
  norm.dropout = pass.dropout(key);
  NormGradients out{at::empty_like(sum), at::empty(sum.sizes(), sum.options().dtype(torch::kBFloat16)), at::empty_like(weight),
                    at::empty_like(weight), at::empty_like(weight)};
  const torch::Tensor scratch = at::empty({cuda::residual_norm_blocks, 3, norm.width}, sum.options());
  norm.grad_x = room(out.x), norm.grad_y = half_room(out.y), norm.scratch = room(scratch);
  norm.grad_weight = room(out.weight), norm.grad_bias = room(out.bias), norm.columns_of_grad_y = room(out.columns_of_y);
  cuda::residual_norm_gradient(norm, cuda::current_stream(sum.device().index()));
  cuda::check_launch();
  return out;
}

torch::Tensor weight_gradient(const torch::Tensor& grad, const torch::Tensor& x) { return at::mm(grad.t(), x, torch::kFloat32); }
torch::Tensor bias_gradient(const torch::Tensor& grad) { return at::sum(grad, {0}, false, torch::kFloat32); }

// The gradient of the layer's input, and of what it learns in the order of LayerTensors.
std::pair<States, std::vector<torch::Tensor>> backward_layer(LayersPass& pass, size_t layer, const States& grad) {
  const LayerTensors& w = pass.weights[layer];
  const KeptOfLayer kept = std::move(pass.kept[layer]);
  pass.kept[layer] = {};
  const int64_t rows = kept.x.size(0), width = pass.config.head_width(), heads = w.heads(width);
  const NormGradients second =
      norm_gradient(pass, grad, kept.second_sum, kept.second_moments, w.second_norm, pass.keys[layer].after_feed_forward);
  const torch::Tensor of_narrow = weight_gradient(second.y, kept.active);
  const torch::Tensor hidden = activation_gradient(at::mm(second.y, w.narrow), kept.wide, pass.config.activation);
  const torch::Tensor of_wide = weight_gradient(hidden, kept.y);
  const NormGradients first = norm_gradient(pass, {second.x, at::mm(hidden, w.wide)}, kept.first_sum, kept.first_moments,
                                            w.first_norm, pass.keys[layer].after_attention);
  const torch::Tensor of_out = weight_gradient(first.y, kept.attended.reshape({rows, heads * width}));
  const torch::Tensor parts = kept.qkv.view({rows, 3, heads, width});
  const auto [q, k, v] =
      at::_flash_attention_backward(at::mm(first.y, w.out).view({rows, heads, width}), parts.select(1, 0), parts.select(1, 1),
                                    parts.select(1, 2), kept.attended, kept.log_sums, pass.texts.offsets, pass.texts.offsets,
                                    pass.texts.longest, pass.texts.longest, pass.attention_dropout(),
                                    /*is_causal=*/false, kept.random_state, kept.unused, pass.scale());
  const torch::Tensor qkv = at::stack({q, k, v}, 1).view({rows, 3 * heads * width});
  return {{first.x, at::mm(qkv, w.qkv)},
          {weight_gradient(qkv, kept.x), bias_gradient(qkv), of_out, first.columns_of_y, first.weight, first.bias, of_wide,
           bias_gradient(hidden), of_narrow, second.columns_of_y, second.weight, second.bias}};
}

torch::Tensor forward_layers(LayersPass& pass, const torch::Tensor& x) {
  States states{pass.kept.empty() ? torch::Tensor() : x, x.to(torch::kBFloat16)};
  for (size_t i = 0; i < pass.weights.size(); ++i) states = forward_layer(pass, i, states, i + 1 == pass.weights.size());
  return states.whole;
}

class LayersFunction : public torch::autograd::Function<LayersFunction> {
 public:
  // `tensors`: what is learned, as it is stored; its rounded copies are in the pass.
  static torch::Tensor forward(torch::autograd::AutogradContext* context, const torch::Tensor& x, at::TensorList tensors,
                               const c10::intrusive_ptr<LayersPass>& pass) {
    static_cast<void>(tensors);
    context->saved_data["pass"] = c10::IValue::make_capsule(pass);
    return forward_layers(*pass, x);
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 const torch::autograd::variable_list& gradients) {
    const auto capsule = context->saved_data["pass"].toCapsule();
    auto& pass = static_cast<LayersPass&>(*capsule);
    if (!pass.kept.back().x.defined()) throw std::logic_error("FusedLayers: the gradient was asked for a second time");
    const size_t layers = pass.weights.size();
    torch::autograd::variable_list result(2 + LayerTensors::count * layers);
    States grad{gradients[0].contiguous(), {}};
    for (size_t i = layers; i-- > 0;) {
      auto [below, learned] = backward_layer(pass, i, grad);
      grad = std::move(below);
      std::move(learned.begin(), learned.end(), result.begin() + static_cast<int64_t>(1 + LayerTensors::count * i));
    }
    result[0] = grad.whole + grad.half;
    return result;
  }
};

}  // namespace

bool FusedLayers::serves(const torch::Tensor& x, const LayerPass& pass) const {
  const int64_t width = config_.head_width();
  return x.is_cuda() && pass.compute == torch::kBFloat16 && x.scalar_type() == torch::kFloat32 && !config_.relative_attention &&
         width % 8 == 0 && width <= 256 && cuda::can_norm_residual(config_.hidden);
}

bool FusedLayers::fits(int64_t layer, const LayerGates& gates) const {
  const TransformerLayer& its = *layers_[static_cast<size_t>(layer)];
  const LayerWeights weights = its.weights();
  const int64_t heads = gates.kept_heads.defined() ? gates.kept_heads.size(0) : weights.heads(its.head_width());
  const int64_t neurons = gates.kept_neurons.defined() ? gates.kept_neurons.size(0) : weights.neurons();
  return heads > 0 && neurons > 0 && neurons % neuron_step == 0;
}

torch::Tensor FusedLayers::forward(const torch::Tensor& x, const LayerPass& given, int64_t begin, int64_t end,
                                   const std::vector<LayerGates>& gates) const {
  rounded_->update();
  auto pass = c10::make_intrusive<LayersPass>();
  pass->config = config_;
  pass->texts = given.batch.texts;
  pass->ids = given.token_ids;
  std::vector<torch::Tensor> learned;
  for (int64_t i = begin; i < end; ++i) {
    const auto key = [&](DropoutPlace place) { return given.pass.dropout_key(dropout_place(place, i)).value; };
    pass->keys.push_back(
        {key(DropoutPlace::attention), key(DropoutPlace::after_attention), key(DropoutPlace::after_feed_forward)});
    const TransformerLayer& layer = *layers_[static_cast<size_t>(i)];
    const bool dense = gates.empty() || gates[static_cast<size_t>(i)].is_dense();
    LayerTensors tensors(layer), rounded = rounded_->layers[static_cast<size_t>(i)];
    if (!dense) {
      tensors = rounded = {layer, gated_weights(layer.weights(), gates[static_cast<size_t>(i)], layer.head_width())};
      for (torch::Tensor* tensor : rounded.of_products()) *tensor = tensor->detach().to(torch::kBFloat16).contiguous();
    }
    pass->weights.push_back(std::move(rounded));
    for (const torch::Tensor* tensor : tensors.all()) learned.push_back(*tensor);
  }
  if (!at::GradMode::is_enabled()) return forward_layers(*pass, x);
  pass->kept.resize(pass->weights.size());
  return LayersFunction::apply(x, at::TensorList(learned), pass);
}

#endif

}  // namespace l0gm
