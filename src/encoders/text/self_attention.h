#pragma once

#include <memory>

#include "encode/text/transformer_config.h"
#include "encoders/text/layer_pass.h"
#include "encoders/text/layer_weights.h"
#include "encoders/text/linear_map.h"
#include "encoders/text/relative_positions.h"

namespace l0gm {

// The first half of a layer: each token reads the others of its text. Query, key and value are one product.
class SelfAttention : public torch::nn::Module {
 public:
  SelfAttention(const TransformerConfig& config, int64_t layer);
  // By these weights, its own or those of some heads. `relative`: the rows of RelativePositions, undefined without. `first_only`:
  // only the first token of each text asks, and there is one row per text.
  torch::Tensor forward(const torch::Tensor& x, const LayerWeights& weights, const LayerPass& pass, const torch::Tensor& relative,
                        const RelativePositions* positions, bool first_only) const;
  // The same before its last linear map, `out`. There are heads.
  torch::Tensor attended(const torch::Tensor& x, const LayerWeights& weights, const LayerPass& pass,
                         const torch::Tensor& relative, const RelativePositions* positions, bool first_only) const;

  std::shared_ptr<LinearMap> qkv, out;                      // [3 hidden, hidden]: query, key, value
  std::shared_ptr<LinearMap> position_key, position_query;  // DeBERTa with its own projections of positions; else nullptr

 private:
  struct Projected {
    torch::Tensor q, k, v;  // [rows, heads, width]
  };
  Projected project(const torch::Tensor& x, const LayerWeights& weights, const LayerPass& pass, bool first_only) const;
  torch::Tensor disentangled(const Projected& of, const LayerWeights& weights, const LayerPass& pass, const SequenceRows& queries,
                             const torch::Tensor& relative, const RelativePositions& positions, bool first_only) const;
  TransformerConfig config_;
  int64_t layer_;
};

}  // namespace l0gm
