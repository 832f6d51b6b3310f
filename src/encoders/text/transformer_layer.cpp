#include "encoders/text/transformer_layer.h"

#include <ATen/Functions.h>
#include <ATen/Parallel.h>

#include <algorithm>

#include "encoders/text/fused_linear.h"

namespace l0gm {

namespace {
constexpr int64_t rows_of_block = 256;  // of a thread: a wide hidden layer of so many rows fits the second cache
}

TransformerLayer::TransformerLayer(const TransformerConfig& config, int64_t layer)
    : layer_(layer), head_width_(config.head_width()), dropout_(config.hidden_dropout) {
  attention = register_module("attention", std::make_shared<SelfAttention>(config, layer));
  attention_norm = register_module("attention_norm", std::make_shared<LayerNorm>(config.hidden, config.norm_epsilon));
  feed_forward = register_module("feed_forward", std::make_shared<FeedForward>(config.hidden, config.shape_of(layer).intermediate,
                                                                               config.activation));
  feed_forward_norm = register_module("feed_forward_norm", std::make_shared<LayerNorm>(config.hidden, config.norm_epsilon));
}

torch::Tensor TransformerLayer::forward(const torch::Tensor& x, const LayerPass& pass, const torch::Tensor& relative,
                                        const RelativePositions* positions, bool first_only, const LayerGates& gates) const {
  const LayerWeights w = gated_weights(weights(), gates, head_width_);
  torch::Tensor ids;
  if (pass.training()) ids = first_only ? pass.token_ids.index_select(0, pass.batch.first) : pass.token_ids;
  const auto dropped = [&](const torch::Tensor& y, DropoutPlace place) {
    // In the precision of the states, for which there is a kernel that keeps no mask.
    return ids.defined() ? pass.pass.dropout(y.to(x.scalar_type()), dropout_, dropout_place(place, layer_), ids) : y;
  };
  const torch::Tensor read = first_only ? x.index_select(0, pass.batch.first) : x;
  if (!ids.defined() && w.out.size(1) > 0 && w.neurons() > 0 && FusedLinear::serves(x, pass.compute))
    return finish_by_blocks(read, attention->attended(x, w, pass, relative, positions, first_only), w);
  const torch::Tensor attended = attention->forward(x, w, pass, relative, positions, first_only);
  const torch::Tensor y = attention_norm->of_sum(read, dropped(attended, DropoutPlace::after_attention));
  return feed_forward_norm->of_sum(y, dropped(feed_forward->forward(y, w, pass.compute), DropoutPlace::after_feed_forward));
}

LayerWeights TransformerLayer::weights() const {
  LayerWeights w{attention->qkv->weight,
                 attention->qkv->bias,
                 attention->out->weight,
                 attention->out->bias,
                 feed_forward->in->weight,
                 feed_forward->in->bias,
                 feed_forward->out->weight,
                 feed_forward->out->bias,
                 {},
                 {},
                 {},
                 {}};
  if (attention->position_key != nullptr) {
    w.position_key = attention->position_key->weight;
    w.position_key_bias = attention->position_key->bias;
  }
  if (attention->position_query != nullptr) {
    w.position_query = attention->position_query->weight;
    w.position_query_bias = attention->position_query->bias;
  }
  return w;
}

void TransformerLayer::narrow(const LayerGates& gates) {
  torch::NoGradGuard no_grad;
  const LayerWeights w = gated_weights(weights(), gates, head_width_);
  const auto put = [](const std::shared_ptr<LinearMap>& map, const torch::Tensor& weight, const torch::Tensor& bias) {
    if (map == nullptr) return;
    map->weight.set_data(weight.contiguous());
    map->bias.set_data(bias.contiguous());
  };
  put(attention->qkv, w.qkv, w.qkv_bias);
  put(attention->out, w.out, w.out_bias);
  put(attention->position_key, w.position_key, w.position_key_bias);
  put(attention->position_query, w.position_query, w.position_query_bias);
  put(feed_forward->in, w.wide, w.wide_bias);
  put(feed_forward->out, w.narrow, w.narrow_bias);
}

torch::Tensor TransformerLayer::finish_by_blocks(const torch::Tensor& read, const torch::Tensor& attended,
                                                 const LayerWeights& weights) const {
  const int64_t rows = read.size(0), block = std::min(rows, rows_of_block * at::get_num_threads());
  const FusedLinear out(weights.out, weights.out_bias, block), wide(weights.wide, weights.wide_bias, block),
      narrow(weights.narrow, weights.narrow_bias, block);
  torch::Tensor result = at::empty_like(read);
  for (int64_t begin = 0; begin < rows; begin += block) {
    const int64_t count = std::min(block, rows - begin);
    const torch::Tensor y = attention_norm->forward(out.plus(attended.narrow(0, begin, count), read.narrow(0, begin, count)));
    const torch::Tensor hidden = wide.activated(y, feed_forward->activation());
    result.narrow(0, begin, count).copy_(feed_forward_norm->forward(narrow.plus(hidden, y)));
  }
  return result;
}

}  // namespace l0gm
