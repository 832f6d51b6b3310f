#include "compact/text/text_compaction.h"

#include <ATen/Functions.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/safetensors.h"
#include "compact/parity.h"
#include "compact/text/text_predictor.h"
#include "compact/text/tiny_text.h"
#include "data/made/planted_text.h"
#include "encoders/text/reference_text.h"
#include "l0gm/error.h"

namespace l0gm {
namespace {

using namespace testing_tools;

constexpr double float32_gap = 2e-5;

// Compacts a run and compares file and run with the run's own model on odd texts.
nlohmann::json compact_and_compare(const TrainedTinyText& trained, const CompactOptions& options = {}, bool narrowed = false) {
  const nlohmann::json result = trained.compact(options);
  EXPECT_EQ(result["kind"], "text");
  EXPECT_LE(result["parity_float64"].get<double>(), algebra_limit);
  EXPECT_LE(result["parity_float32"].get<double>(), float32_gap);
  EXPECT_EQ(result["parity_float32_limit"].get<double>(), 1e-4);
  EXPECT_GT(result["rows_checked"].get<int64_t>(), 60) << "validation texts and made ones";
  EXPECT_EQ(result["bytes"].get<int64_t>(), static_cast<int64_t>(std::filesystem::file_size(trained.file)));
  EXPECT_EQ(result["encoder_narrowed"], narrowed);
  for (const char* split : {"valid", "test"}) EXPECT_EQ(result["figures"][split]["rows"], 60) << split;
  const std::vector<double> wanted = trained.uncompacted(some_texts());
  const double allowed = options.weights == WeightType::float32 ? float32_gap : 0.05;
  EXPECT_LE(gap_of(told(TextPredictor(trained.file, {false, text_machine(), {}}), some_texts()), wanted), allowed);
  const auto served = open_predictor(compact_kinds(), trained.file, {false, text_machine(), {}});
  EXPECT_LE(gap_of(told(*served, some_texts()), wanted), allowed) << "without LibTorch where oneDNN is there";
  EXPECT_LE(gap_of(told(TextPredictor(trained.run, {false, text_machine(), {}}), some_texts()), wanted), float32_gap);
  return result;
}

TEST(TextCompaction, ClosedDimensionsAreGoneFromTheHeadAndTheFileSaysWhatTheRunSays) {
  for (const std::string pooling : {"mean", "cls"}) {
    SCOPED_TRACE(pooling);
    const TrainedTinyText trained({"gate.target_active=0.25", "model.members=2", "encoder.pooling=" + pooling});
    const nlohmann::json result = compact_and_compare(trained);
    EXPECT_EQ(result["units"], 16);
    EXPECT_EQ(result["open_units"], 4);
    EXPECT_EQ(result["dimensions"], 16);
    EXPECT_EQ(result["open_dimensions"], 4);
    const SafetensorsFile file(trained.file);
    EXPECT_EQ(file.tensor("head.linear.weight0").shape, (std::vector<int64_t>{2, 4, 1}));
    for (const auto& [name, tensor] : file.tensors()) EXPECT_FALSE(is_gate_name(name)) << name;
    EXPECT_EQ(read_text_model(trained.file).header.net.pooling, pooling == "cls" ? Pooling::cls : Pooling::mean);
    const std::string card = read_file(result["card"].get<std::string>());
    for (const char* words : {"4 of 16 units are open", "Only the head is narrower", "bert family: 1 layers of 16 dimensions",
                              "first 48 tokens", "| test | 60 |", "Fixing the gates changed", "trained from scratch"}) {
      EXPECT_NE(card.find(words), std::string::npos) << words << "\n" << card;
    }
  }
}

TEST(TextCompaction, GroupsDenseRunsAndFractionalGates) {
  const nlohmann::json groups =
      compact_and_compare(TrainedTinyText({"gate.unit=group", "encoder.blocks=4", "gate.target_active=0.5"}));
  EXPECT_EQ(groups["units"], 4);
  EXPECT_EQ(groups["open_dimensions"], 8);
  const nlohmann::json dense = compact_and_compare(TrainedTinyText({"gate.unit=none", "train.precision=float64"}));
  EXPECT_EQ(dense["units"], 16);
  EXPECT_EQ(dense["open_units"], 16);
  const TrainedTinyText median({"gate.test_rule=median", "gate.lambda=0.02", "train.gate_lr=0.3"});
  compact_and_compare(median);
}

// Gates of token states stay as factors by position.
TEST(TextCompaction, FineUnits) {
  const TrainedTinyText trained({"gate.unit=fine", "gate.target_active=0.5"});
  const nlohmann::json result = compact_and_compare(trained);
  EXPECT_EQ(result["units"], 5 * 16);
  const TextFile file = read_text_model(trained.file);
  EXPECT_TRUE(file.header.net.token_factors);
  const torch::Tensor factors = file.model->encoder().learned_buffers().at("token_factors");
  EXPECT_EQ(factors.sizes(), (std::vector<int64_t>{4, 16}));
  EXPECT_GT(factors.eq(0).sum().item<int64_t>(), 0) << "no token gate closed: the test shows nothing";
}

// Closed heads, neurons and layers are not in the file.
TEST(TextCompaction, StructureIsTakenOut) {
  for (const std::string pooling : {"mean", "cls"}) {
    SCOPED_TRACE(pooling);
    const TrainedTinyText trained(
        {"encoder.depth=3", "gate.attach=heads+ffn+layers+interface", "gate.target_active=0.35", "encoder.pooling=" + pooling});
    const TrainedTinyText dense({"encoder.depth=3", "gate.unit=none", "train.epochs=1"});
    const nlohmann::json result = compact_and_compare(trained, {}, true);
    EXPECT_EQ(result["units"], 3 + 6 + 72 + 16);
    const nlohmann::json& left = result["structure"];
    EXPECT_LT(left["heads"].get<int64_t>() + left["neurons"].get<int64_t>(), 6 + 72);
    EXPECT_GT(left["speedup"].get<double>(), 1.5);
    EXPECT_LT(result["bytes"].get<int64_t>(), dense.compact()["bytes"].get<int64_t>());
    const TextFile file = read_text_model(trained.file);
    EXPECT_EQ(file.header.net.encoder.layers, left["layers"].get<int64_t>());
    int64_t heads = 0;
    for (int64_t i = 0; i < file.header.net.encoder.layers; ++i) heads += file.header.net.encoder.shape_of(i).heads;
    EXPECT_EQ(heads, left["heads"].get<int64_t>());
    const std::string card = read_file(result["card"].get<std::string>());
    for (const char* words : {"of 3 layers", "of 6 attention heads", "of 72 neurons left", "times as fast as the dense model"})
      EXPECT_NE(card.find(words), std::string::npos) << words << "\n" << card;
    for (const WeightType weights : {WeightType::bfloat16, WeightType::int8}) {
      CompactOptions options;
      options.weights = weights;
      compact_and_compare(trained, options, true);
    }
  }
}

TEST(TextCompaction, TheCardTellsTheSpeedByPricesAndByAClock) {
  const TrainedTinyText trained({"encoder.depth=3", "gate.target_speedup=1.5", "gate.cost=flops"});
  const nlohmann::json result = compact_and_compare(trained, {}, true);
  EXPECT_GE(result["structure"]["speedup"].get<double>(), 1.5);
  const std::string card = read_file(result["card"].get<std::string>());
  EXPECT_GT(result["structure"]["speedup_timed"].get<double>(), 0);
  for (const std::string& words :
       {std::string("asked to be 1.5 times as fast;"), std::string("by gate.cost = flops"),
        fmt::format("{:.2f} times as timed here", result["structure"]["speedup_timed"].get<double>())}) {
    EXPECT_NE(card.find(words), std::string::npos) << words << "\n" << card;
  }
  // A clock says something else each time: the file says nothing of it.
  const nlohmann::json about = read_text_model(trained.file).header.about;
  EXPECT_TRUE(about["structure"].contains("speedup"));
  EXPECT_FALSE(about["structure"].contains("speedup_timed"));
  const std::string bytes = read_file(trained.file);
  trained.compact();
  EXPECT_EQ(read_file(trained.file), bytes);
}

TEST(TextCompaction, Bfloat16HalvesTheFileAndSaysWhatItCosts) {
  const TrainedTinyText trained({"gate.target_active=0.5"});
  const nlohmann::json exact = trained.compact();
  CompactOptions options;
  options.weights = WeightType::bfloat16;
  const nlohmann::json rounded = compact_and_compare(trained, options);
  EXPECT_LT(rounded["bytes"].get<int64_t>(), exact["bytes"].get<int64_t>());
  EXPECT_GT(rounded["rounding"]["largest_difference"].get<double>(), 0);
  EXPECT_LT(rounded["rounding"]["largest_difference"].get<double>(), 0.05);
  const SafetensorsFile file(trained.file);
  EXPECT_EQ(file.tensor("encoder.transformer.embeddings.words").dtype, DType::bf16);
  EXPECT_EQ(file.tensor("head.bias").dtype, DType::f32);
}

TEST(TextCompaction, Int8QuartersTheMatricesAndSaysWhatItCosts) {
  const TrainedTinyText trained({"gate.target_active=0.5"});
  CompactOptions options;
  options.weights = WeightType::bfloat16;
  const nlohmann::json larger = trained.compact(options);
  options.weights = WeightType::int8;
  const nlohmann::json rounded = compact_and_compare(trained, options);
  EXPECT_LT(rounded["bytes"].get<int64_t>(), larger["bytes"].get<int64_t>());
  EXPECT_GT(rounded["rounding"]["largest_difference"].get<double>(), 0);
  EXPECT_LT(rounded["rounding"]["largest_difference"].get<double>(), 0.05);
  EXPECT_EQ(SafetensorsFile(trained.file).tensor("encoder.transformer.embeddings.words").dtype, DType::i8);
}

TEST(TextCompaction, WhatCannotBeDoneIsSaid) {
  const TrainedTinyText instance({"gate.logits=instance", "gate.target_active=0.5"});
  const std::string message = message_of<UserError>([&] { instance.compact(); });
  EXPECT_NE(message.find("gate.logits = instance"), std::string::npos) << message;
  EXPECT_FALSE(std::filesystem::exists(instance.file));
  EXPECT_LE(gap_of(told(TextPredictor(instance.run, {false, text_machine(), {}}), some_texts()),
                   instance.uncompacted(some_texts())),
            float32_gap);
  CompactOptions options;
  options.lookup = "all";
  EXPECT_NE(message_of<UserError>([&] { instance.compact(options); }).find("no nodes"), std::string::npos);
}

// As learned from made texts, its first tokens alone.
std::string small_tokenizer(int64_t vocabulary) {
  const TextData data = make_planted_text(100, 0);
  std::vector<std::string_view> texts;
  for (int64_t row = 0; row < data.texts.size(); ++row) texts.push_back(data.texts.view(row));
  nlohmann::json json = nlohmann::json::parse(train_tokenizer(texts, 200)->json()), some = nlohmann::json::object();
  for (const auto& [token, id] : json["model"]["vocab"].items()) {
    if (id.get<int64_t>() < vocabulary) some[token] = id;
  }
  json["model"]["vocab"] = some;
  return json.dump();
}

// A frozen encoder of a folder: the run does not hold its weights, the compact file does, with the scale of its interface.
TEST(TextCompaction, FrozenEncodersAreInTheFile) {
  const TemporaryFolder folder;
  const std::filesystem::path encoder = folder.path() / "encoder";
  std::filesystem::copy(reference_folder("bert"), encoder);
  write_file_atomically(encoder / "tokenizer.json", small_tokenizer(read_transformer_config(encoder).vocabulary));
  const auto path =
      folder.write("frozen.toml",
                   "[data]\nsource = 'planted-text'\nrows = 300\n[encoder]\nfrozen = true\nmax_tokens = 24\npath = '" +
                       encoder.string() + "'\n[train]\nepochs = 8\nbatch = 64\n");
  const Config config = read_config(path, {"gate.target_active=0.5"});
  const TrainedTinyText trained(&config);
  compact_and_compare(trained);
  const TextFile file = read_text_model(trained.file);
  EXPECT_TRUE(file.header.net.scaled);
  EXPECT_GT(file.model->encoder().learned_buffers().at("feature_mean").abs().sum().item<double>(), 0);
  const std::vector<double> before = trained.uncompacted(some_texts());
  std::filesystem::remove_all(encoder);
  EXPECT_LE(gap_of(told(TextPredictor(trained.file, {false, text_machine(), {}}), some_texts()), before), float32_gap);
  EXPECT_THROW(TextPredictor(trained.run, {false, text_machine(), {}}), UserError) << "the run needs the folder";
}

}  // namespace
}  // namespace l0gm
