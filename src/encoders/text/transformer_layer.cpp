#include "encoders/text/transformer_layer.h"

#include <ATen/Functions.h>

namespace l0gm {

TransformerLayer::TransformerLayer(const TransformerConfig& config, int64_t layer)
    : layer_(layer), dropout_(config.hidden_dropout) {
  attention = register_module("attention", std::make_shared<SelfAttention>(config, layer));
  attention_norm = register_module("attention_norm", std::make_shared<LayerNorm>(config.hidden, config.norm_epsilon));
  feed_forward =
      register_module("feed_forward", std::make_shared<FeedForward>(config.hidden, config.intermediate, config.activation));
  feed_forward_norm = register_module("feed_forward_norm", std::make_shared<LayerNorm>(config.hidden, config.norm_epsilon));
}

torch::Tensor TransformerLayer::forward(const torch::Tensor& x, const LayerPass& pass, const torch::Tensor& relative,
                                        const RelativePositions* positions, bool first_only) const {
  torch::Tensor ids;
  if (pass.training()) ids = first_only ? pass.token_ids.index_select(0, pass.batch.first) : pass.token_ids;
  const auto dropped = [&](const torch::Tensor& y, DropoutPlace place) {
    return ids.defined() ? pass.pass.dropout(y, dropout_, dropout_place(place, layer_), ids) : y;
  };
  const torch::Tensor read = first_only ? x.index_select(0, pass.batch.first) : x;
  const torch::Tensor attended = attention->forward(x, pass, relative, positions, first_only);
  const torch::Tensor y = attention_norm->of_sum(read, dropped(attended, DropoutPlace::after_attention));
  return feed_forward_norm->of_sum(y, dropped(feed_forward->forward(y, pass.compute), DropoutPlace::after_feed_forward));
}

}  // namespace l0gm
