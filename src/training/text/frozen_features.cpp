#include "training/text/frozen_features.h"

#include <ATen/Functions.h>
#include <c10/core/InferenceMode.h>
#include <fmt/format.h>

#include <chrono>
#include <nlohmann/json.hpp>

#include "base/array_file.h"
#include "base/files.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/text.h"
#include "l0gm/error.h"

namespace l0gm {

namespace fs = std::filesystem;

namespace {

constexpr int feature_version = 1;  // raised when the encoder computes something else

// All that features depend on.
std::string key_of(const TextRows& texts, const TextRecord& record, const std::string& texts_sha256, const Config& config,
                   torch::Device device) {
  TransformerConfig shape = record.encoder;
  shape.hidden_dropout = shape.attention_dropout = 0;  // nothing is dropped here
  std::string all =
      std::to_string(feature_version) + to_json(shape).dump() + texts_sha256 + sha256(texts.rows) + record.tokenizer->sha256();
  for (const FileStamp& file : record.weights) all += file.sha256;
  all += fmt::format("{} {} {} {} {} {}", record.max_tokens, name_of_enum(config.encoder.pooling), record.encoder.layers,
                     device.is_cpu() ? "cpu" : "gpu", name_of_enum(config.train.precision),
                     config.train.matmul ? name_of_enum(*config.train.matmul) : "auto");
  return sha256(all);
}

torch::Tensor computed(Model& model, const TextRows& texts, torch::Device device) {
  c10::InferenceMode inference;
  model.eval();
  auto& encoder = dynamic_cast<TextEncoder&>(model.encoder());
  std::vector<std::pair<torch::Tensor, torch::Tensor>> parts;
  for_each_block(texts, device, [&](std::span<const int64_t> positions, TextBatch& batch) {
    GatePass pass = GatePass::evaluation({}, batch.example_ids);
    parts.emplace_back(at::tensor(std::vector<int64_t>(positions.begin(), positions.end()), torch::kInt64),
                       encoder.unscaled(batch, pass).to(torch::kFloat32));
  });
  torch::Tensor all = at::empty({static_cast<int64_t>(texts.rows.size()), encoder.width()}, torch::kFloat32);
  for (const auto& [positions, values] : parts) all.index_copy_(0, positions, values.cpu());
  return all;
}

}  // namespace

torch::Tensor frozen_features(Model& model, const TextRows& texts, const TextRecord& record, const std::string& texts_sha256,
                              const Config& config, torch::Device device) {
  const torch::Dtype dtype = model.encoder().parameters()[0].scalar_type();
  const fs::path folder = token_cache_folder();
  const fs::path path =
      folder / fmt::format("features-{}.safetensors", key_of(texts, record, texts_sha256, config, device).substr(0, 32));
  const int64_t rows = static_cast<int64_t>(texts.rows.size()), width = model.encoder().width();
  if (!folder.empty() && fs::exists(path)) {
    try {
      const SharedArray<float> values = ArrayFile(path, "features of texts").array<float>("features");
      if (values.size() != rows * width) throw UserError("it holds another number of them");
      return at::from_blob(const_cast<float*>(values.data()), {rows, width}, torch::kFloat32).clone().to(device, dtype);
    } catch (const UserError& error) {
      set_damaged_aside(path, error.what(), "They");
    }
  }
  log_info(fmt::format("encoding {} texts once; they are kept for the next run", with_thousands(rows)));
  const auto start = std::chrono::steady_clock::now();
  const torch::Tensor features = computed(model, texts, device).contiguous();
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  log_info(fmt::format("encoded in {:.1f} s", seconds.count()));
  if (!folder.empty()) {
    try {
      fs::create_directories(folder);
      const std::span<const float> values(features.data_ptr<float>(), static_cast<size_t>(features.numel()));
      write_safetensors(path, {{"features", tensor_of<float>(values)}}, {{"kind", "l0gm features"}});
    } catch (const std::exception& error) {
      log_warning(fmt::format("the features of the texts are not kept: {}", error.what()));
    }
  }
  return features.to(device, dtype);
}

void fit_scaling(TextEncoder& encoder, const torch::Tensor& features) {
  const torch::Tensor exact = features.to(torch::kFloat64), mean = exact.mean(0);
  const torch::Tensor deviation = (exact - mean).square().mean(0).sqrt();
  encoder.scale_interface(mean, 1 / at::where(deviation.gt(1e-6), deviation, at::ones_like(deviation)));
}

}  // namespace l0gm
