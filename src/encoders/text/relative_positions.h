#pragma once

#include <memory>

#include "encode/text/transformer_config.h"
#include "encoders/text/layer_pass.h"
#include "encoders/text/linear_map.h"

namespace l0gm {

// The bucket of a distance between two tokens: the distance itself up to half the buckets, then logarithmic.
int64_t relative_bucket(int64_t distance, int64_t buckets, int64_t largest);

// DeBERTa's embeddings of distances, shared by all layers.
class RelativePositions : public torch::nn::Module {
 public:
  explicit RelativePositions(const TransformerConfig& config);
  torch::Tensor forward(const LayerPass& pass) const;  // [2 span, hidden]
  // Which row of them belongs to each pair of a query and a key: int64 [queries, keys].
  torch::Tensor row_of_pair(int64_t queries, int64_t keys, torch::Device device) const;
  torch::Tensor rows;               // [2 span, hidden]
  std::shared_ptr<LayerNorm> norm;  // or nullptr

 private:
  int64_t span_, buckets_, largest_;
  double dropout_;
};

}  // namespace l0gm
