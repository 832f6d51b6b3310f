#include "encoders/text/embeddings.h"

#include <ATen/Functions.h>

#include "encoders/text/gather_rows.h"

namespace l0gm {

TextEmbeddings::TextEmbeddings(const TransformerConfig& config)
    : first_position_(config.first_position()), dropout_(config.hidden_dropout) {
  words = register_parameter("words", at::zeros({config.vocabulary, config.hidden}));
  if (config.absolute_positions) positions = register_parameter("positions", at::zeros({config.positions, config.hidden}));
  if (config.token_types > 0) types = register_parameter("types", at::zeros({config.token_types, config.hidden}));
  norm = register_module("norm", std::make_shared<LayerNorm>(config.hidden, config.norm_epsilon));
}

torch::Tensor TextEmbeddings::forward(const LayerPass& pass) const {
  const TextBatch& batch = pass.batch;
  torch::Tensor x = batch.word_vectors.defined() ? batch.word_vectors : gather_rows(words, batch.tokens);
  if (positions.defined()) {
    // The vector of the type is the same for all tokens: added to the few positions first.
    torch::Tensor rows = positions.narrow(0, first_position_, batch.texts.longest);
    if (types.defined()) rows = rows + types[0];
    x = x + gather_rows(rows, batch.positions);
  } else if (types.defined()) {
    x = x + types[0];
  }
  x = norm->forward(x);
  return pass.training() ? pass.pass.dropout(x, dropout_, dropout_place(DropoutPlace::embeddings), pass.token_ids) : x;
}

}  // namespace l0gm
