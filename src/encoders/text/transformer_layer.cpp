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
    // In the precision of the states, for which there is a kernel that keeps no mask.
    return ids.defined() ? pass.pass.dropout(y.to(x.scalar_type()), dropout_, dropout_place(place, layer_), ids) : y;
  };
  const torch::Tensor read = first_only ? x.index_select(0, pass.batch.first) : x;
  if (!ids.defined() && FusedLinear::serves(x, pass.compute))
    return finish_by_blocks(read, attention->attended(x, pass, relative, positions, first_only));
  const torch::Tensor attended = attention->forward(x, pass, relative, positions, first_only);
  const torch::Tensor y = attention_norm->of_sum(read, dropped(attended, DropoutPlace::after_attention));
  return feed_forward_norm->of_sum(y, dropped(feed_forward->forward(y, pass.compute), DropoutPlace::after_feed_forward));
}

torch::Tensor TransformerLayer::finish_by_blocks(const torch::Tensor& read, const torch::Tensor& attended) const {
  const int64_t rows = read.size(0), block = std::min(rows, rows_of_block * at::get_num_threads());
  const FusedLinear out(*attention->out, block), wide(*feed_forward->in, block), narrow(*feed_forward->out, block);
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
