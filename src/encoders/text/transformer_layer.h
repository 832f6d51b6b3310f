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
  torch::Tensor forward(const torch::Tensor& x, const LayerPass& pass, const torch::Tensor& relative,
                        const RelativePositions* positions, bool first_only) const;
  std::shared_ptr<SelfAttention> attention;
  std::shared_ptr<LayerNorm> attention_norm;
  std::shared_ptr<FeedForward> feed_forward;
  std::shared_ptr<LayerNorm> feed_forward_norm;

 private:
  // Everything behind attention, without gradient, by blocks of rows whose intermediate results stay in the cache.
  torch::Tensor finish_by_blocks(const torch::Tensor& read, const torch::Tensor& attended) const;
  int64_t layer_;
  double dropout_;
};

}  // namespace l0gm
