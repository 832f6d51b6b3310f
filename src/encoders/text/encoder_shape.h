#pragma once

#include "encode/text/transformer_config.h"
#include "encoders/text/options.h"

// What the options make of an encoder's shape.
namespace l0gm {

// How many tokens of a text this encoder reads: encoder.max_tokens (more than it has positions for are a UserError), or 512 at
// most.
int64_t longest_input(const TransformerConfig& config, const EncoderOptions& options);

// A small encoder in BERT's shape for texts of at most encoder.max_tokens tokens, or 256.
TransformerConfig transformer_from_scratch(const EncoderOptions& options, int64_t vocabulary);
// What the options change in an encoder that was read: its layers, its dropout. Layers that it does not have are a UserError.
TransformerConfig with_options(TransformerConfig config, const EncoderOptions& options);

}  // namespace l0gm
