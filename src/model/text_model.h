// A text model: Transformer encoder, gate sites, linear head.
//   auto model = make_text_model(config, {.class_rows = {900, 100}}, options, encoder, gate, seed);  // weights drawn from the
//   seed load_pretrained(*model, "weights/gte-small");                                                    // or out of a folder
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "encoders/text/load_encoder.h"
#include "encoders/text/text_encoder.h"
#include "model/model.h"
#include "model/options.h"

namespace l0gm {

std::vector<std::string> text_model_names();  // transformer: from scratch; pretrained: out of encoder.path

// What a text model has to know of its data.
struct TextFacts {
  std::vector<int64_t> class_rows;  // training texts of each class
  bool balanced = false;            // classes weigh the same in the loss: logits start at equal odds, else at the base rate
  TextLengths lengths;              // of training texts; gates on the structure only
  std::optional<PartTimes> times;   // the same, where gate.cost = latency
};

// All weights drawn from `seed`. `config` is what the run's record keeps, with encoder.layers and dropout already applied
// (with_options): a finished run is built from it without the folder that it started from.
std::shared_ptr<Model> make_text_model(const TransformerConfig& config, const TextFacts& facts, const ModelOptions& options,
                                       const EncoderOptions& encoder, const GateOptions& gate, uint64_t seed);
// Fills the encoder with the weights of a folder; returns the names of tensors that were not needed.
std::vector<std::string> load_pretrained(Model& model, const std::filesystem::path& folder);

}  // namespace l0gm
