#include "compact/text/text_file.h"

#include <ATen/Functions.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>

#include "base/files.h"
#include "base/hash.h"
#include "base/safetensors.h"
#include "l0gm/error.h"
#include "runtime/container.h"
#include "support/temporary_folder.h"

namespace l0gm {
namespace {

using nlohmann::json;
using Tensors = std::map<std::string, TensorBytes>;

// A narrowed model as it comes out of compaction, with untrained numbers.
TextHeader small_text_header(const std::string& model_type = "bert") {
  TextHeader header;
  header.tokenizer = train_tokenizer({"one two three", "four five", "six seven eight"}, 100);
  json config = {{"model_type", model_type},      {"vocab_size", header.tokenizer->vocabulary_size() + 1},
                 {"max_position_embeddings", 12}, {"hidden_size", 8},
                 {"num_hidden_layers", 1},        {"num_attention_heads", 2},
                 {"intermediate_size", 6},        {"type_vocab_size", 1}};
  if (model_type == "distilbert") config.update({{"dim", 8}, {"n_layers", 1}, {"n_heads", 2}, {"hidden_dim", 6}});
  if (model_type == "deberta-v2") {
    config.update(
        {{"relative_attention", true}, {"position_buckets", 4}, {"pos_att_type", "c2p|p2c"}, {"norm_rel_ebd", "layer_norm"}});
  }
  header.net.encoder = parse_transformer_config(config, "test");
  header.net.members = 2;
  header.net.classes = 3;
  header.net.selected = {0, 2, 5};
  header.column = "review";
  header.delimiter = ';';
  header.max_tokens = 10;
  header.classes = {"a", "b", "c"};
  header.calibrator.kind = CalibratorKind::temperature;
  header.calibrator.temperature = 1.5;
  header.about = {{"dataset", "x"}};
  return header;
}

std::shared_ptr<Model> drawn_model(const TextNet& net) {
  at::manual_seed(3);
  const auto model = make_model(net);
  torch::NoGradGuard no_grad;
  for (const auto& [name, tensor] : tensors_of_text_model(*model)) torch::Tensor(tensor).normal_();
  return model;
}

// A file with another manifest or other tensors, all hashes right.
void forge_text(const std::filesystem::path& from, const std::filesystem::path& to,
                const std::function<void(json&, Tensors&)>& change) {
  const SafetensorsFile file(from);
  json manifest = json::parse(file.metadata().at("l0gm"));
  Tensors tensors = file.tensors();
  change(manifest, tensors);
  manifest["tensors_sha256"] = digest_of_tensors(tensors);
  const std::string text = manifest.dump();
  write_safetensors(to, tensors, {{"l0gm", text}, {"l0gm_sha256", sha256(text)}});
}

TEST(TextFile, WhatIsReadIsWhatWasWritten) {
  const TemporaryFolder folder;
  for (const std::string type : {"bert", "distilbert", "roberta", "deberta-v2"}) {
    SCOPED_TRACE(type);
    TextHeader header = small_text_header(type);
    if (type == "bert") header.net.scaled = true;
    if (type == "roberta") header.net.token_factors = true, header.net.selected.clear();
    if (type == "deberta-v2") header.net.pooling = Pooling::cls;
    const auto model = drawn_model(header.net);
    int64_t numbers = 0, parameters = 0;
    for (const auto& [name, tensor] : tensors_of_text_model(*model)) numbers += tensor.numel();
    for (const torch::Tensor& parameter : model->parameters()) parameters += parameter.numel();
    EXPECT_EQ(header.net.numbers(), numbers);
    EXPECT_EQ(header.net.parameters(), parameters);
    EXPECT_EQ(text_net_of(*model, 3).to_json(), header.net.to_json());
    const auto path = folder.path() / "m.l0gm";
    const int64_t bytes = write_text_model(path, header, *model);
    EXPECT_EQ(bytes, static_cast<int64_t>(std::filesystem::file_size(path)));
    const TextFile file = read_text_model(path);
    EXPECT_EQ(Container::kind_of(path), "text");
    EXPECT_EQ(file.header.weights, WeightType::float32);
    EXPECT_EQ(file.tensors_sha256, Container::read(path).tensors_sha256());
    EXPECT_EQ(file.header.net.to_json(), header.net.to_json());
    EXPECT_EQ(file.header.tokenizer->json(), header.tokenizer->json());
    EXPECT_EQ(file.header.column, "review");
    EXPECT_EQ(file.header.delimiter, ';');
    EXPECT_EQ(file.header.max_tokens, 10);
    EXPECT_EQ(file.header.classes, header.classes);
    EXPECT_EQ(file.header.calibrator.to_json(), header.calibrator.to_json());
    EXPECT_EQ(file.header.about, header.about);
    const TensorMap before = tensors_of_text_model(*model), after = tensors_of_text_model(*file.model);
    ASSERT_EQ(before.size(), after.size());
    for (const auto& [name, tensor] : before) EXPECT_TRUE(at::equal(tensor, after.at(name))) << name;
  }
}

TEST(TextFile, Bfloat16RoundsTheMatricesOfTheEncoder) {
  const TemporaryFolder folder;
  TextHeader header = small_text_header();
  header.weights = WeightType::bfloat16;
  const auto model = drawn_model(header.net);
  const auto path = folder.path() / "m.l0gm";
  write_text_model(path, header, *model);
  const TextFile file = read_text_model(path);
  EXPECT_EQ(file.header.weights, WeightType::bfloat16);
  const TensorMap after = tensors_of_text_model(*file.model);
  for (const auto& [name, tensor] : tensors_of_text_model(*model)) {
    const bool rounded = name.starts_with("encoder.") && tensor.dim() == 2;
    EXPECT_TRUE(at::equal(after.at(name), rounded ? tensor.to(torch::kBFloat16).to(torch::kFloat32) : tensor)) << name;
    EXPECT_EQ(after.at(name).scalar_type(), torch::kFloat32) << name;
  }
}

// Each number is the nearest of 255 steps of its row; what is not a product's weight or a word's row stays as it is.
TEST(TextFile, Int8HasAScalePerRow) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "m.l0gm", bad = folder.path() / "bad.l0gm";
  for (const std::string type : {"bert", "distilbert", "roberta", "deberta-v2"}) {
    SCOPED_TRACE(type);
    TextHeader header = small_text_header(type);
    header.weights = WeightType::int8;
    const auto model = drawn_model(header.net);
    write_text_model(path, header, *model);
    const TextFile file = read_text_model(path);
    EXPECT_EQ(file.header.weights, WeightType::int8);
    const TensorMap after = tensors_of_text_model(*file.model);
    int64_t rounded = 0;
    for (const auto& [name, tensor] : tensors_of_text_model(*model)) {
      const bool is_rounded =
          name.starts_with("encoder.") && tensor.dim() == 2 && (name.ends_with(".weight") || name.ends_with(".words"));
      rounded += is_rounded ? 1 : 0;
      const torch::Tensor step = is_rounded ? tensor.abs().amax(1, true) / 127 : torch::Tensor(at::zeros({1}));
      EXPECT_TRUE((after.at(name) - tensor).abs().le(step * 0.501).all().item<bool>()) << name;
      EXPECT_EQ(at::equal(after.at(name), tensor), !is_rounded) << name;
    }
    EXPECT_GE(rounded, 5);
  }
}

TEST(TextFile, ScalesOfInt8AreChecked) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "m.l0gm", bad = folder.path() / "bad.l0gm";
  TextHeader header = small_text_header();
  header.weights = WeightType::int8;
  write_text_model(path, header, *drawn_model(header.net));
  const std::string words = "encoder.transformer.embeddings.words", scales = words + ".scales";
  const std::vector<float> zeros(200, 0.0F);
  const std::vector<std::pair<std::string, std::function<void(json&, Tensors&)>>> forgeries = {
      {"lacks", [&](json&, Tensors& t) { t.erase(scales); }},
      {"for each row of",
       [&](json&, Tensors& t) { t[scales].shape[0] -= 1, t[scales].bytes = t[scales].bytes.first(t[scales].bytes.size() - 4); }},
      {"for each row of", [&](json&, Tensors& t) { t.erase(words); }},
      {"not above 0",
       [&](json&, Tensors& t) { t[scales].bytes = {reinterpret_cast<const char*>(zeros.data()), t[scales].bytes.size()}; }},
      {"numbers, its net has", [&](json&, Tensors& t) { t["head.bias.scales"] = t["head.bias"]; }},
      {"wanted F32", [](json& m, Tensors&) { m["weights"] = "float32"; }},
  };
  for (const auto& [words_of_refusal, change] : forgeries) {
    forge_text(path, bad, change);
    const std::string message = message_of<UserError>([&] { read_text_model(bad); });
    EXPECT_NE(message.find(words_of_refusal), std::string::npos) << words_of_refusal << ": " << message;
  }
}

TEST(TextFile, EveryDamageIsRefused) {
  const TemporaryFolder folder;
  const TextHeader header = small_text_header();
  const auto path = folder.path() / "m.l0gm", bad = folder.path() / "bad.l0gm";
  write_text_model(path, header, *make_model(header.net));
  const std::string good = read_file(path);
  for (size_t i = 0; i < good.size(); i += 29) {
    std::string bytes = good;
    bytes[i] = static_cast<char>(bytes[i] ^ (1 << (i % 8)));
    folder.write("bad.l0gm", bytes);
    EXPECT_THROW(read_text_model(bad), UserError) << "byte " << i;
    EXPECT_NO_THROW(Container::kind_of(bad));
  }
  for (size_t size = 0; size < good.size(); size += 101) {
    folder.write("bad.l0gm", good.substr(0, size));
    EXPECT_THROW(read_text_model(bad), UserError) << size << " bytes";
  }
}

TEST(TextFile, ForgedFilesAreRefusedBeforeTheyCostMemory) {
  const TemporaryFolder folder;
  const TextHeader header = small_text_header();
  const auto path = folder.path() / "m.l0gm", bad = folder.path() / "bad.l0gm";
  write_text_model(path, header, *drawn_model(header.net));
  forge_text(path, bad, [](json&, Tensors&) {});
  EXPECT_NO_THROW(read_text_model(bad));
  std::vector<float> infinite(6, std::numeric_limits<float>::infinity());
  const std::vector<std::pair<std::string, std::function<void(json&, Tensors&)>>> forgeries = {
      {"numbers, its net has", [](json& m, Tensors&) { m["net"]["encoder"]["num_hidden_layers"] = 200; }},
      {"numbers, its net has", [](json& m, Tensors&) { m["net"]["encoder"]["vocab_size"] = 9000000; }},
      {"parameters", [](json& m, Tensors&) { m["net"]["encoder"].update({{"hidden_size", 16384}, {"num_hidden_layers", 200}}); }},
      {"whole number", [](json& m, Tensors&) { m["net"]["encoder"]["hidden_size"] = int64_t{1} << 40; }},
      {"does not divide", [](json& m, Tensors&) { m["net"]["encoder"]["num_attention_heads"] = 3; }},
      {"model_type", [](json& m, Tensors&) { m["net"]["encoder"]["model_type"] = "tree"; }},
      {"an object", [](json& m, Tensors&) { m["net"]["encoder"] = 3; }},
      {"'strange'", [](json& m, Tensors&) { m["net"]["encoder"]["strange"] = 1; }},
      {"'strange'", [](json& m, Tensors&) { m["net"]["strange"] = 1; }},
      {"'strange'", [](json& m, Tensors&) { m["text"]["strange"] = 1; }},
      {"'strange'", [](json& m, Tensors&) { m["strange"] = 1; }},
      {"does not know", [](json& m, Tensors&) { m["net"]["pooling"] = "maximum"; }},
      {"whole number", [](json& m, Tensors&) { m["net"]["members"] = 0; }},
      {"numbers, its net has", [](json& m, Tensors&) { m["net"]["members"] = 4096; }},
      {"does not ascend", [](json& m, Tensors&) { m["net"]["selected"] = {2, 1, 0}; }},
      {"whole number", [](json& m, Tensors&) { m["net"]["selected"] = {0, 1, 8}; }},
      {"numbers, its net has", [](json& m, Tensors&) { m["net"]["selected"] = {0, 1}; }},
      {"numbers, its net has", [](json& m, Tensors&) { m["net"]["scaled"] = true; }},
      {"numbers, its net has", [](json& m, Tensors&) { m["net"]["token_factors"] = true; }},
      {"scaled", [](json& m, Tensors&) { m["net"]["scaled"] = 1; }},
      {"column", [](json& m, Tensors&) { m["text"]["column"] = ""; }},
      {"delimiter", [](json& m, Tensors&) { m["text"]["delimiter"] = "\n"; }},
      {"delimiter", [](json& m, Tensors&) { m["text"]["delimiter"] = ",,"; }},
      {"max_tokens", [](json& m, Tensors&) { m["text"]["max_tokens"] = 13; }},
      {"max_tokens", [](json& m, Tensors&) { m["text"]["max_tokens"] = 1; }},
      {"tokenizer", [](json& m, Tensors&) { m["tokenizer"] = "{}"; }},
      {"tokenizer", [](json& m, Tensors&) { m["tokenizer"] = 5; }},
      {"absent", [](json& m, Tensors&) { m.erase("tokenizer"); }},
      {"its encoder 5", [](json& m, Tensors&) { m["net"]["encoder"]["vocab_size"] = 5; }},
      {"classes", [](json& m, Tensors&) { m["classes"] = {"a"}; }},
      {"classes", [](json& m, Tensors&) { m["classes"] = {"a", "a", "b"}; }},
      {"numbers, its net has", [](json& m, Tensors&) { m["classes"] = {"a", "b"}; }},
      {"kind 'graph'", [](json& m, Tensors&) { m["kind"] = "graph"; }},
      {"wanted I8", [](json& m, Tensors&) { m["weights"] = "int8"; }},
      {"wanted BF16", [](json& m, Tensors&) { m["weights"] = "bfloat16"; }},
      {"'about'", [](json& m, Tensors&) { m["about"] = 1; }},
      {"absent", [](json& m, Tensors&) { m.erase("net"); }},
      {"lacks 'head.bias'", [](json&, Tensors& t) { t["head.bios"] = t["head.bias"], t.erase("head.bias"); }},
      {"another shape", [](json&, Tensors& t) { t["head.bias"].shape = {3, 2}; }},
      {"numbers, its net has", [](json&, Tensors& t) { t.erase("head.bias"); }},
      {"not finite", [&](json&, Tensors& t) { t["head.bias"].bytes = {reinterpret_cast<const char*>(infinite.data()), 24}; }},
  };
  for (const auto& [words, change] : forgeries) {
    forge_text(path, bad, change);
    const std::string message = message_of<UserError>([&] { read_text_model(bad); });
    EXPECT_NE(message.find(words), std::string::npos) << words << ": " << message;
    EXPECT_NE(message.find("bad.l0gm"), std::string::npos) << message;
  }
}

// One value of the manifest is exchanged for another, all hashes right: refused, or a model that still predicts.
TEST(TextFile, AnyOtherManifestIsRefusedOrHarmless) {
  const TemporaryFolder folder;
  const TextHeader header = small_text_header();
  const auto path = folder.path() / "m.l0gm", bad = folder.path() / "bad.l0gm";
  write_text_model(path, header, *drawn_model(header.net));
  const json manifest = json::parse(SafetensorsFile(path).metadata().at("l0gm"));
  int64_t refused = 0, tried = 0;
  const json places = manifest.flatten();
  for (const auto& place : places.items()) {
    if (place.key().starts_with("/about")) continue;
    for (const json& value : {json(nullptr), json(-1), json(7), json(1e300), json("x"), json::array()}) {
      forge_text(path, bad, [&](json& m, Tensors&) { m[json::json_pointer(place.key())] = value; });
      ++tried;
      try {
        const TextFile file = read_text_model(bad);
        std::vector<int32_t> ids;
        file.header.tokenizer->encode("one nine", file.header.max_tokens, ids);
        for (const int32_t id : ids) EXPECT_LT(id, file.header.net.encoder.vocabulary) << place.key() << value;
      } catch (const UserError&) {
        ++refused;
      }
    }
  }
  EXPECT_GT(refused, tried / 2);
}

}  // namespace
}  // namespace l0gm
