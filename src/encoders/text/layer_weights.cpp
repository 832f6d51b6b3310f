#include "encoders/text/layer_weights.h"

#include <ATen/Functions.h>

namespace l0gm {

namespace {

// Rows, or the bias, of some heads out of `parts` projections that lie one after the other.
torch::Tensor rows_of_heads(const torch::Tensor& all, const torch::Tensor& kept, int64_t parts, int64_t head_width) {
  if (!all.defined()) return all;
  const int64_t heads = all.size(0) / (parts * head_width), columns = all.dim() == 2 ? all.size(1) : 1;
  const torch::Tensor some = all.reshape({parts, heads, head_width * columns}).index_select(1, kept);
  const int64_t rows = parts * kept.size(0) * head_width;
  return all.dim() == 2 ? some.reshape({rows, columns}) : some.reshape({rows});
}

}  // namespace

LayerWeights gated_weights(const LayerWeights& weights, const LayerGates& gates, int64_t head_width) {
  LayerWeights result = weights;
  if (gates.kept_heads.defined()) {
    const torch::Tensor& kept = gates.kept_heads;
    result.qkv = rows_of_heads(weights.qkv, kept, 3, head_width);
    result.qkv_bias = rows_of_heads(weights.qkv_bias, kept, 3, head_width);
    const int64_t hidden = weights.out.size(0);
    result.out = weights.out.reshape({hidden, -1, head_width}).index_select(1, kept).reshape({hidden, kept.size(0) * head_width});
    for (torch::Tensor* own :
         {&result.position_key, &result.position_key_bias, &result.position_query, &result.position_query_bias}) {
      *own = rows_of_heads(*own, kept, 1, head_width);
    }
  }
  if (gates.heads.defined()) result.out = result.out * gates.heads.repeat_interleave(head_width);
  if (gates.kept_neurons.defined()) {
    result.wide = weights.wide.index_select(0, gates.kept_neurons);
    result.wide_bias = weights.wide_bias.index_select(0, gates.kept_neurons);
    result.narrow = weights.narrow.index_select(1, gates.kept_neurons);
  }
  if (gates.neurons.defined()) result.narrow = result.narrow * gates.neurons;
  return result;
}

}  // namespace l0gm
