#pragma once

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "encode/text/tokenizer.h"
#include "encoders/text/text_encoder.h"
#include "metrics/calibrator.h"
#include "model/model.h"
#include "runtime/table_net.h"

// The compact file of a text model (.l0gm, kind "text"): the same container as a table's (docs/format.md), read by LibTorch. It
// holds all that predicting takes, the tokenizer included.
//   write_text_model("m.l0gm", header, *narrowed, WeightType::bfloat16);
//   const TextFile file = read_text_model("m.l0gm");
namespace l0gm {

// The shape of a narrowed model: what its tensors are the numbers of.
struct TextNet {
  TransformerConfig encoder;
  Pooling pooling = Pooling::mean;
  int64_t members = 1, classes = 2;
  std::vector<int64_t> selected;  // dimensions of the interface that the head reads; empty: all
  bool scaled = false;            // the interface is scaled before (a frozen encoder)
  bool token_factors = false;     // what enters the last layer is scaled by dimension and block of positions (fine units)

  int64_t head_width() const { return selected.empty() ? encoder.hidden : static_cast<int64_t>(selected.size()); }
  int64_t parameters() const;  // as Model counts them
  int64_t numbers() const;     // that a file holds: with the factors of interface and tokens
  nlohmann::json to_json() const;
  static TextNet from_json(const nlohmann::json& json, int64_t classes);  // UserError when it makes no sense
};
TextNet text_net_of(const Model& model, int64_t classes);  // of a model that was narrowed
std::shared_ptr<Model> make_model(const TextNet& net);
// Takes out for good what the gates have closed. False: nothing was done, since gates depend on the text.
bool narrow_text_model(Model& model, const GateState& state);
// Everything that such a model has learned, by name: what a file holds.
TensorMap tensors_of_text_model(const Model& model);

// What a file says beside its numbers.
struct TextHeader {
  TextNet net;
  std::shared_ptr<const Tokenizer> tokenizer;
  std::string column;  // where predicted files have their texts
  char delimiter = ',';
  int64_t max_tokens = 0;
  std::vector<std::string> classes;
  Calibrator calibrator;  // never folded
  nlohmann::json about;   // an object: provenance, options, gate, figures, parity; for people and reports, not for computing
};

struct TextFile {
  TextHeader header;
  WeightType weights = WeightType::float32;
  std::shared_ptr<Model> model;  // float32, on the CPU, in evaluation mode
  std::string tensors_sha256;
};

// Writes atomically; returns the bytes written. bfloat16: matrices of the encoder are rounded, all else stays float32.
int64_t write_text_model(const std::filesystem::path& path, const TextHeader& header, const Model& model, WeightType weights);
// Every hash, key, count and shape is checked before it asks for memory; numbers must be finite. UserError naming the file.
TextFile read_text_model(const std::filesystem::path& path);

}  // namespace l0gm
