#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "encoders/text/text_encoder.h"
#include "model/model.h"
#include "runtime/text/text_header.h"

// Compact text models (runtime/text/text_header.h) as LibTorch computes them: written from a trained model, read into one again.
//   write_text_model("m.l0gm", header, *narrowed);   // header.weights: float32, bfloat16 or int8
//   const TextFile file = read_text_model("m.l0gm");
namespace l0gm {

TextNet text_net_of(const Model& model, int64_t classes);  // of a model that was narrowed
std::shared_ptr<Model> make_model(const TextNet& net);
// Takes out for good what the gates have closed. False: nothing was done, since gates depend on the text.
bool narrow_text_model(Model& model, const GateState& state);
// Everything that such a model has learned, by name: what a file holds.
TensorMap tensors_of_text_model(const Model& model);

struct TextFile {
  TextHeader header;
  std::shared_ptr<Model> model;  // float32, on the CPU, in evaluation mode
  std::string tensors_sha256;
};

// Writes atomically; returns the bytes written.
int64_t write_text_model(const std::filesystem::path& path, const TextHeader& header, const Model& model);
// Every hash, key, count and shape is checked before it asks for memory; numbers must be finite. UserError naming the file.
TextFile read_text_model(const std::filesystem::path& path);

}  // namespace l0gm
