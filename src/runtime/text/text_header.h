#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "encode/text/tokenizer.h"
#include "metrics/calibrator.h"
#include "runtime/container.h"
#include "runtime/table_net.h"
#include "runtime/text/text_net.h"

// The compact file of a text model (.l0gm, kind "text"): the same container as a table's (docs/format.md). It holds all that
// predicting takes, the tokenizer included. What is here needs no LibTorch and is shared by all that reads and writes such files.
namespace l0gm {

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
  WeightType weights = WeightType::float32;
};

// Every key and count is checked, and that the file holds as many numbers as the net has, of the right types and finite, before
// anyone asks for memory. Names and shapes of single tensors are checked by who reads them. UserError that does not name the
// file.
TextHeader read_text_header(const Container& file);
// Into a writer that has the tensors; returns the bytes written.
int64_t write_text_header(ContainerWriter& writer, const std::filesystem::path& path, const TextHeader& header);

// How a tensor is stored. bfloat16: matrices and embeddings of the encoder are rounded, since nearly all numbers are in these,
// and norms, biases and the head are more sensitive. int8: weights of products and embeddings of words, with a scale per row in
// a tensor of their own.
DType type_in_text_file(const std::string& name, size_t dimensions, WeightType weights);
std::string scales_of(const std::string& name);

}  // namespace l0gm
