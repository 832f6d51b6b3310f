#include "encoders/text/load_encoder.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/files.h"
#include "encoders/text/reference_text.h"
#include "l0gm/error.h"
#include "support/real_weights.h"
#include "support/temporary_folder.h"

namespace l0gm {
namespace {

using namespace testing_tools;

TEST(LoadEncoder, SavedEncodersAreReadBack) {
  for (const std::string& name : reference_names()) {
    const TextReference reference(name);
    const auto encoder = reference_encoder(name, torch::kFloat32);
    const TemporaryFolder folder;
    save_encoder(*encoder, folder.path() / "saved");
    const LoadedEncoder again = load_encoder(folder.path() / "saved", EncoderOptions{});
    EXPECT_TRUE(again.unread.empty());
    EXPECT_EQ(again.encoder->config(), encoder->config()) << name;
    EXPECT_TRUE(at::equal(states_of(*again.encoder, reference.batch), states_of(*encoder, reference.batch))) << name;
  }
}

TEST(LoadEncoder, ExtraTensorsAreListed) {
  const LoadedEncoder loaded = load_encoder(reference_folder("bert"), EncoderOptions{});
  EXPECT_EQ(loaded.unread, (std::vector<std::string>{"pooler.dense.bias", "pooler.dense.weight"}));
}

TEST(LoadEncoder, KeepsTheFirstLayers) {
  EncoderOptions options;
  options.layers = 1;
  const LoadedEncoder loaded = load_encoder(reference_folder("bert"), options);
  EXPECT_EQ(loaded.encoder->layers.size(), 1U);
  EXPECT_EQ(loaded.unread.size(), 18U);  // a layer's 16, and the pooler
  options.layers = 3;
  EXPECT_NE(message_of<UserError>([&] { load_encoder(reference_folder("bert"), options); }).find("2 layers"), std::string::npos);
}

// Copies the tiny BERT, its tensors changed by `change`.
std::filesystem::path changed_copy(const TemporaryFolder& folder, const std::function<void(TensorMap&)>& change,
                                   const std::string& file = "model.safetensors") {
  TensorMap tensors = load_tensors(reference_folder("bert") / "model.safetensors").tensors;
  change(tensors);
  folder.write("config.json", read_file(reference_folder("bert") / "config.json"));
  save_tensors(folder.path() / file, tensors, {});
  return folder.path();
}

TEST(LoadEncoder, ReadsPrefixesOldNamesAndHalfPrecision) {
  const TextReference reference("bert");
  for (const auto& [type, tolerance] : {std::pair(torch::kFloat16, 5e-3), std::pair(torch::kBFloat16, 5e-2)}) {
    const TemporaryFolder folder;
    const auto path = changed_copy(
        folder,
        [type = type](TensorMap& tensors) {
          TensorMap renamed;
          for (const auto& [name, tensor] : tensors) {
            std::string old = "bert." + name;
            if (const auto at = old.find("LayerNorm.weight"); at != std::string::npos) old.replace(at + 10, 6, "gamma");
            if (const auto at = old.find("LayerNorm.bias"); at != std::string::npos) old.replace(at + 10, 4, "beta");
            renamed[old] = tensor.to(type);
          }
          tensors = renamed;
        },
        "weights.safetensors");
    const LoadedEncoder loaded = load_encoder(path, EncoderOptions{});
    EXPECT_LT(largest_difference(states_of(*loaded.encoder, reference.batch), reference.expected.at("states")), tolerance);
  }
}

TEST(LoadEncoder, NamesWhatIsMissingOrOfAnotherShape) {
  const std::string value = "encoder.layer.1.attention.self.value.weight";
  {
    const TemporaryFolder folder;
    const auto path = changed_copy(folder, [&](TensorMap& tensors) { tensors.erase(value); });
    EXPECT_NE(message_of<UserError>([&] { load_encoder(path, {}); }).find(value), std::string::npos);
  }
  {
    const TemporaryFolder folder;
    const auto path = changed_copy(folder, [&](TensorMap& tensors) { tensors[value] = at::zeros({16, 15}); });
    const std::string message = message_of<UserError>([&] { load_encoder(path, {}); });
    EXPECT_NE(message.find("[16, 15]"), std::string::npos) << message;
    EXPECT_NE(message.find("[16, 16]"), std::string::npos) << message;
  }
  {
    const TemporaryFolder folder;
    const auto path = changed_copy(folder, [&](TensorMap& tensors) { tensors[value] = at::zeros({16, 16}, torch::kInt32); });
    EXPECT_NE(message_of<UserError>([&] { load_encoder(path, {}); }).find("I32"), std::string::npos);
  }
  {
    const TemporaryFolder folder;
    const auto path = changed_copy(folder, [&](TensorMap& tensors) { tensors[value][3][4] = NAN; });
    EXPECT_NE(message_of<UserError>([&] { load_encoder(path, {}); }).find("not finite"), std::string::npos);
  }
}

TEST(LoadEncoder, SizesThatTheWeightsDoNotBearOutAskForNoMemory) {
  const TemporaryFolder folder;
  changed_copy(folder, [](TensorMap&) {});
  nlohmann::json config = nlohmann::json::parse(read_file(folder.path() / "config.json"));
  config["vocab_size"] = 10000000;
  folder.write("config.json", config.dump());
  EXPECT_NE(message_of<UserError>([&] { load_encoder(folder.path(), {}); }).find("do not belong together"), std::string::npos);
}

TEST(LoadEncoder, RefusesFoldersWithoutWeightsOrWithSeveral) {
  const TemporaryFolder folder;
  EXPECT_NE(message_of<UserError>([&] { load_encoder(folder.path() / "none", {}); }).find("not a folder"), std::string::npos);
  EXPECT_NE(message_of<UserError>([&] { load_encoder(folder.path(), {}); }).find("config.json"), std::string::npos);
  folder.write("config.json", read_file(reference_folder("bert") / "config.json"));
  EXPECT_NE(message_of<UserError>([&] { load_encoder(folder.path(), {}); }).find("no *.safetensors"), std::string::npos);
  folder.write("a.safetensors", "x");
  EXPECT_NE(message_of<UserError>([&] { load_encoder(folder.path(), {}); }).find("a.safetensors"), std::string::npos);
  folder.write("b.safetensors", "x");
  EXPECT_NE(message_of<UserError>([&] { load_encoder(folder.path(), {}); }).find("several"), std::string::npos);
  folder.write("config.json", "{\"model_type\": [[[[");
  EXPECT_NE(message_of<UserError>([&] { load_encoder(folder.path(), {}); }).find("not valid JSON"), std::string::npos);
}

TEST(LoadEncoder, ReadsShardsAndRefusesPathsOutOfTheFolder) {
  const TextReference reference("bert");
  const TemporaryFolder folder;
  TensorMap tensors = load_tensors(reference_folder("bert") / "model.safetensors").tensors, first, second;
  nlohmann::json map;
  for (const auto& [name, tensor] : tensors) {
    const bool early = name < "encoder.layer.1";
    (early ? first : second)[name] = tensor;
    map[name] = early ? "one.safetensors" : "two.safetensors";
  }
  folder.write("config.json", read_file(reference_folder("bert") / "config.json"));
  save_tensors(folder.path() / "one.safetensors", first, {});
  save_tensors(folder.path() / "two.safetensors", second, {});
  folder.write("model.safetensors.index.json", nlohmann::json{{"weight_map", map}}.dump());
  const LoadedEncoder loaded = load_encoder(folder.path(), {});
  EXPECT_LT(largest_difference(states_of(*loaded.encoder, reference.batch), reference.expected.at("states")), 1e-4);
  folder.write("model.safetensors.index.json", R"({"weight_map": {"a": "../one.safetensors"}})");
  EXPECT_NE(message_of<UserError>([&] { load_encoder(folder.path(), {}); }).find("beside it"), std::string::npos);
}

// The cosines that weights/README.md states for real encoders.
TEST(LoadEncoder, RealEncodersGiveTheStatedCosines) {
  const std::vector<std::vector<int32_t>> texts = {{101, 2008, 2003, 1037, 3407, 2711, 102},
                                                   {101, 2008, 2003, 1037, 3407, 3899, 102},
                                                   {101, 2008, 2003, 1037, 2200, 3407, 2711, 102},
                                                   {101, 2651, 2003, 1037, 11559, 2154, 102}};
  const std::filesystem::path weights = real_weights_folder();
  if (weights.empty()) GTEST_SKIP() << "no folder of pretrained encoders (L0GM_WEIGHTS)";
  const std::map<std::string, std::vector<double>> stated = {{"all-MiniLM-L6-v2", {0.695, 0.943, 0.257}},
                                                             {"gte-small", {0.923, 0.982, 0.814}}};
  torch::InferenceMode inference;
  for (const auto& [name, cosines] : stated) {
    if (!std::filesystem::is_directory(weights / name)) continue;
    const LoadedEncoder loaded = load_encoder(weights / name, {});
    const TextBatch batch = batch_of(texts);
    std::vector<torch::Tensor> means;
    for (const torch::Tensor& part : states_of(*loaded.encoder, batch).split_with_sizes(batch.texts.lengths))
      means.push_back(part.mean(0) / part.mean(0).norm());
    for (size_t i = 0; i < cosines.size(); ++i)
      EXPECT_NEAR(means[0].dot(means[i + 1]).item<double>(), cosines[i], 1e-3) << name << " " << i;
  }
}

}  // namespace
}  // namespace l0gm
