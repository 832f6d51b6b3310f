#include "encoders/text/self_attention.h"

#include <ATen/Functions.h>

#include <cmath>

#include "encoders/text/packed_attention.h"

namespace l0gm {

namespace {

// One row per sequence.
SequenceRows single_rows(int64_t sequences, torch::Device device) {
  return {at::arange(sequences + 1, at::TensorOptions(torch::kInt32).device(device)),
          std::vector<int64_t>(static_cast<size_t>(sequences), 1), 1};
}

}  // namespace

SelfAttention::SelfAttention(const TransformerConfig& config, int64_t layer) : config_(config), layer_(layer) {
  const int64_t width = config.shape_of(layer).heads * config.head_width();
  qkv = register_module("qkv", std::make_shared<LinearMap>(config.hidden, 3 * width));
  out = register_module("out", std::make_shared<LinearMap>(width, config.hidden));
  if (!config.relative_attention || config.share_attention_key) return;
  const auto projection = [&] { return std::make_shared<LinearMap>(config.hidden, width); };
  if (config.content_to_position) position_key = register_module("position_key", projection());
  if (config.position_to_content) position_query = register_module("position_query", projection());
}

SelfAttention::Projected SelfAttention::project(const torch::Tensor& x, const LayerWeights& weights, const LayerPass& pass,
                                                bool first_only) const {
  const int64_t width = config_.head_width(), heads = weights.heads(width), all_heads = heads * width;
  if (!first_only) {
    const torch::Tensor all = linear(x, weights.qkv, weights.qkv_bias, pass.compute).view({-1, 3, heads, width});
    return {all.select(1, 0), all.select(1, 1), all.select(1, 2)};
  }
  const torch::Tensor weight = weights.qkv.to(pass.compute), bias = weights.qkv_bias.to(pass.compute), read = x.to(pass.compute);
  const torch::Tensor q =
      at::linear(read.index_select(0, pass.batch.first), weight.narrow(0, 0, all_heads), bias.narrow(0, 0, all_heads));
  const torch::Tensor kv = at::linear(read, weight.narrow(0, all_heads, 2 * all_heads), bias.narrow(0, all_heads, 2 * all_heads))
                               .view({-1, 2, heads, width});
  return {q.view({-1, heads, width}), kv.select(1, 0), kv.select(1, 1)};
}

torch::Tensor SelfAttention::forward(const torch::Tensor& x, const LayerWeights& weights, const LayerPass& pass,
                                     const torch::Tensor& relative, const RelativePositions* positions, bool first_only) const {
  const bool none = weights.out.size(1) == 0;  // no heads
  const torch::Tensor read =
      none ? (first_only ? pass.batch.first : x) : attended(x, weights, pass, relative, positions, first_only);
  return linear(read, weights.out, weights.out_bias, pass.compute);
}

torch::Tensor SelfAttention::attended(const torch::Tensor& x, const LayerWeights& weights, const LayerPass& pass,
                                      const torch::Tensor& relative, const RelativePositions* positions, bool first_only) const {
  const Projected of = project(x, weights, pass, first_only);
  const SequenceRows queries = first_only ? single_rows(pass.batch.examples(), x.device()) : pass.batch.texts;
  torch::Tensor y;
  if (relative.defined()) {
    y = disentangled(of, weights, pass, queries, relative, *positions, first_only);
  } else {
    AttentionDropout dropout;
    if (pass.training() && config_.attention_dropout > 0) {
      dropout = {config_.attention_dropout, &pass.pass, dropout_place(DropoutPlace::attention, layer_),
                 first_only ? pass.token_ids.index_select(0, pass.batch.first) : pass.token_ids};
    }
    const double scale = 1 / std::sqrt(static_cast<double>(config_.head_width()));
    y = packed_attention(of.q, of.k, of.v, queries, pass.batch.texts, scale, dropout);
  }
  return y.reshape({-1, weights.out.size(1)});
}

// Scores have a part from content to content, one from content to the distance and one from the distance to content; each is
// scaled by the number of parts. A distance's row is the same for c2p and p2c, since buckets are odd in the distance.
torch::Tensor SelfAttention::disentangled(const Projected& of, const LayerWeights& weights, const LayerPass& pass,
                                          const SequenceRows& queries, const torch::Tensor& relative,
                                          const RelativePositions& positions, bool first_only) const {
  const int64_t width = config_.head_width(), heads = weights.heads(width), all_heads = heads * width;
  const int64_t parts = 1 + static_cast<int64_t>(config_.content_to_position) + static_cast<int64_t>(config_.position_to_content);
  const double scale = 1 / std::sqrt(static_cast<double>(width * parts));
  const auto projected = [&](const torch::Tensor& own, const torch::Tensor& own_bias, int64_t shared) {  // [heads, width, 2 span]
    const torch::Tensor y =
        own.defined()
            ? linear(relative, own, own_bias, pass.compute)
            : at::linear(relative.to(pass.compute), weights.qkv.narrow(0, shared * all_heads, all_heads).to(pass.compute),
                         weights.qkv_bias.narrow(0, shared * all_heads, all_heads).to(pass.compute));
    return y.view({-1, heads, width}).permute({1, 2, 0});
  };
  torch::Tensor keys_of_positions, queries_of_positions;
  if (config_.content_to_position) keys_of_positions = projected(weights.position_key, weights.position_key_bias, 1) * scale;
  if (config_.position_to_content)
    queries_of_positions = projected(weights.position_query, weights.position_query_bias, 0) * scale;
  const ScoreBias bias = [&](int64_t, int64_t count, const torch::Tensor& q, const torch::Tensor& k) {
    const int64_t asking = q.size(2), asked = k.size(2);
    const torch::Tensor row = positions.row_of_pair(asking, asked, q.device());
    torch::Tensor sum;
    if (keys_of_positions.defined()) {
      sum = at::matmul(q, keys_of_positions).gather(3, row.expand({count, heads, asking, asked}));
    }
    if (queries_of_positions.defined()) {
      const torch::Tensor p2c = at::matmul(k, queries_of_positions)
                                    .gather(3, row.transpose(0, 1).expand({count, heads, asked, asking}))
                                    .transpose(2, 3);
      sum = sum.defined() ? sum + p2c : p2c;
    }
    return sum.defined() ? sum : at::zeros({1}, q.options());
  };
  AttentionDropout dropout;
  if (pass.training() && config_.attention_dropout > 0) {
    dropout = {config_.attention_dropout, &pass.pass, dropout_place(DropoutPlace::attention, layer_),
               first_only ? pass.token_ids.index_select(0, pass.batch.first) : pass.token_ids};
  }
  return padded_attention(of.q, of.k, of.v, queries, pass.batch.texts, scale, dropout, bias);
}

}  // namespace l0gm
