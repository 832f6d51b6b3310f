#pragma once

#include <ATen/Functions.h>

#include <filesystem>
#include <string>
#include <vector>

#include "batches/text/text_batches.h"
#include "encoders/text/load_encoder.h"
#include "model/tensor_file.h"

namespace l0gm::testing_tools {

inline std::filesystem::path reference_folder(const std::string& name) {
  return std::filesystem::path(L0GM_SOURCE_DIR) / "tests" / "encoders" / "text" / "files" / name;
}

inline std::vector<std::string> reference_names() {
  return {"bert", "distilbert", "roberta", "deberta", "deberta-own-projections"};
}

inline double largest_difference(const torch::Tensor& a, const torch::Tensor& b) {
  return (a.to(torch::kFloat64) - b.to(torch::kFloat64)).abs().max().item<double>();
}

inline TextBatch batch_of(const std::vector<std::vector<int32_t>>& texts) {
  std::vector<std::span<const int32_t>> spans(texts.begin(), texts.end());
  TextBatch batch = make_text_batch(spans, torch::kCPU);
  batch.example_ids = at::arange(static_cast<int64_t>(texts.size()), torch::kInt64);
  return batch;
}

// What the reference library computed for a tiny encoder (tests/reference/text_models.py).
struct TextReference {
  explicit TextReference(const std::string& name)
      : expected(load_tensors(reference_folder(name) / "expected.safetensors").tensors) {
    const torch::Tensor tokens = expected.at("tokens"), lengths = expected.at("lengths");
    int64_t at = 0;
    for (int64_t i = 0; i < lengths.size(0); ++i) {
      std::vector<int32_t> text;
      for (int64_t j = 0; j < lengths[i].item<int64_t>(); ++j, ++at) text.push_back(tokens[at].item<int32_t>());
      texts.push_back(text);
    }
    batch = batch_of(texts);
  }
  TensorMap expected;
  std::vector<std::vector<int32_t>> texts;
  TextBatch batch;
};

inline std::shared_ptr<Transformer> reference_encoder(const std::string& name, torch::Dtype type = torch::kFloat64) {
  auto encoder = load_encoder(reference_folder(name), EncoderOptions{}).encoder;
  encoder->to(type);
  encoder->eval();
  return encoder;
}

inline torch::Tensor states_of(const Transformer& encoder, const TextBatch& batch) {
  const GatePass pass = GatePass::evaluation({}, batch.example_ids);
  return encoder.forward({batch, pass, {}, encoder.embeddings->words.scalar_type()});
}

}  // namespace l0gm::testing_tools
