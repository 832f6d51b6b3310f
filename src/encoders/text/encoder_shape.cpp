#include "encoders/text/encoder_shape.h"

#include <fmt/format.h>

#include <algorithm>

#include "l0gm/error.h"

namespace l0gm {

int64_t longest_input(const TransformerConfig& config, const EncoderOptions& options) {
  const int64_t most = config.longest_text();
  if (options.max_tokens.value_or(0) > most) {
    throw UserError(
        fmt::format("encoder.max_tokens is {}, and the encoder has positions for {} tokens", *options.max_tokens, most));
  }
  return options.max_tokens.value_or(std::min(most, EncoderOptions::longest_text));
}

TransformerConfig transformer_from_scratch(const EncoderOptions& options, int64_t vocabulary) {
  if (options.width % options.heads != 0) {
    throw UserError(
        fmt::format("encoder.width is {} and encoder.heads {}: heads must divide the width", options.width, options.heads));
  }
  TransformerConfig config;
  config.vocabulary = vocabulary;
  config.hidden = options.width;
  config.layers = options.depth;
  config.heads = options.heads;
  config.intermediate = options.ffn;
  config.positions = options.max_tokens.value_or(EncoderOptions::longest_text_from_scratch);
  config.token_types = 1;
  config.hidden_dropout = options.dropout.value_or(0.1);
  config.attention_dropout = options.attention_dropout.value_or(0);
  return config;
}

TransformerConfig with_options(TransformerConfig config, const EncoderOptions& options) {
  if (options.layers > config.layers) {
    throw UserError(
        fmt::format("encoder.layers is {}, and the encoder has {} layers; 0 keeps all", options.layers, config.layers));
  }
  if (options.layers > 0) config.layers = options.layers;
  config.hidden_dropout = options.dropout.value_or(config.hidden_dropout);
  config.attention_dropout = options.attention_dropout.value_or(config.attention_dropout);
  return config;
}

}  // namespace l0gm
