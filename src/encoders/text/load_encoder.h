// A pretrained encoder from a folder in the layout of the Hugging Face library, and back.
//   LoadedEncoder loaded = load_encoder("weights/all-MiniLM-L6-v2", EncoderOptions{});
//   save_encoder(*loaded.encoder, "mine");  // the reference library's AutoModel opens it
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "encoders/text/options.h"
#include "encoders/text/transformer.h"

namespace l0gm {

struct LoadedEncoder {
  std::shared_ptr<Transformer> encoder;  // float32, on the CPU
  std::vector<std::string> unread;       // tensors of the files that are no part of it: poolers, heads, layers left out
};

// config.json of the folder; a UserError names what is wrong.
TransformerConfig read_transformer_config(const std::filesystem::path& folder);

// config.json, and the weights out of model.safetensors, the folder's only *.safetensors, or the files that
// model.safetensors.index.json lists; float32, float16 or bfloat16, with or without the family's prefix ("bert."). A tensor that
// is missing or of another shape is a UserError that names it. Options may keep only some layers and change the dropout.
LoadedEncoder load_encoder(const std::filesystem::path& folder, const EncoderOptions& options);
// The same into an encoder that was made from the folder's configuration.
std::vector<std::string> load_weights(const std::filesystem::path& folder, Transformer& encoder);

// Writes config.json and model.safetensors.
void save_encoder(const Transformer& encoder, const std::filesystem::path& folder);

}  // namespace l0gm
