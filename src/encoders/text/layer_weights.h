#pragma once

#include <torch/types.h>

namespace l0gm {

// The tensors that a layer multiplies with, as they are learned or with closed heads and neurons taken out.
struct LayerWeights {
  torch::Tensor qkv, qkv_bias;        // [3 heads width, hidden]: query, key, value
  torch::Tensor out, out_bias;        // [hidden, heads width]
  torch::Tensor wide, wide_bias;      // [neurons, hidden]
  torch::Tensor narrow, narrow_bias;  // [hidden, neurons]
  torch::Tensor position_key, position_key_bias, position_query, position_query_bias;  // DeBERTa's own; else undefined
  int64_t heads(int64_t head_width) const { return out.size(1) / head_width; }
  int64_t neurons() const { return narrow.size(1); }
};

// What gates leave of one layer in a pass.
struct LayerGates {
  bool closed = false;                     // the whole layer: it is the identity, and nothing of it is computed
  torch::Tensor layer;                     // a factor of what it adds to the states, a scalar; undefined: 1
  torch::Tensor heads, neurons;            // factors, of those that are kept; undefined: 1
  torch::Tensor kept_heads, kept_neurons;  // int64, ascending: the others are not computed; undefined: all are kept
  bool is_dense() const {
    return !closed && !layer.defined() && !heads.defined() && !neurons.defined() && !kept_heads.defined() &&
           !kept_neurons.defined();
  }
};

// A head's factor multiplies what it read before the output's product, a neuron's its activation: both as factors of the columns
// of the weights that read them. Differentiable.
LayerWeights gated_weights(const LayerWeights& weights, const LayerGates& gates, int64_t head_width);

}  // namespace l0gm
