#pragma once

#include <memory>

#include "encoders/text/feed_forward.h"
#include "encoders/text/self_attention.h"

namespace l0gm {

// Attention and feed-forward part, each added to what it read and normalised afterwards.
class TransformerLayer : public torch::nn::Module {
 public:
  TransformerLayer(const TransformerConfig& config, int64_t layer);
  // States [total, hidden] to states; `first_only`: [examples, hidden], those of the first tokens.
  // Factors of heads and neurons are applied; `gates.layer` and `gates.closed` are up to the caller (blended()).
  torch::Tensor forward(const torch::Tensor& x, const LayerPass& pass, const torch::Tensor& relative,
                        const RelativePositions* positions, bool first_only, const LayerGates& gates = {}) const;
  LayerWeights weights() const;          // as they are learned
  void narrow(const LayerGates& gates);  // takes closed heads and neurons out for good
  int64_t head_width() const { return head_width_; }
  std::shared_ptr<SelfAttention> attention;
  std::shared_ptr<LayerNorm> attention_norm;
  std::shared_ptr<FeedForward> feed_forward;
  std::shared_ptr<LayerNorm> feed_forward_norm;

 private:
  // Everything behind attention, without gradient, by blocks of rows whose intermediate results stay in the cache.
  torch::Tensor finish_by_blocks(const torch::Tensor& read, const torch::Tensor& attended, const LayerWeights& weights) const;
  int64_t layer_, head_width_;
  double dropout_;
};

}  // namespace l0gm
