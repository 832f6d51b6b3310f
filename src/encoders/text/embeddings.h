#pragma once

#include <memory>

#include "encode/text/transformer_config.h"
#include "encoders/text/layer_pass.h"
#include "encoders/text/linear_map.h"

namespace l0gm {

// Token ids become states: the token's vector plus that of its position and of its text's type, normalised.
class TextEmbeddings : public torch::nn::Module {
 public:
  explicit TextEmbeddings(const TransformerConfig& config);
  torch::Tensor forward(const LayerPass& pass) const;  // [total, hidden]
  torch::Tensor words;                                 // [vocabulary, hidden]
  torch::Tensor positions;                             // [positions, hidden], or undefined
  torch::Tensor types;                                 // [types, hidden], or undefined
  std::shared_ptr<LayerNorm> norm;

 private:
  int64_t first_position_;
  double dropout_;
};

}  // namespace l0gm
