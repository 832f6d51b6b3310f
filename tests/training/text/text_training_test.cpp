#include <ATen/Functions.h>
#include <gtest/gtest.h>

#include "compact/text/tiny_text.h"
#include "l0gm/error.h"
#include "model/tensor_file.h"
#include "support/environment.h"
#include "training/text/export_encoder.h"
#include "training/text/perturbed_texts.h"
#include "training/text/text_modality.h"

namespace l0gm {
namespace {

namespace fs = std::filesystem;
using testing_tools::text_machine;
using testing_tools::tiny_text_config;
using testing_tools::TrainedTinyText;
using Settings = std::vector<std::string>;

// The encoder and tokenizer of a finished run from scratch as a folder that another run can start from.
fs::path folder_of_encoder(const TrainedTinyText& trained, const fs::path& folder) {
  export_encoder(trained.run, folder, text_machine());
  return folder;
}

class FrozenText : public testing::Test {
 protected:
  FrozenText() : encoder_(folder_of_encoder(scratch_, scratch_.folder.path() / "encoder")) {}
  Settings frozen(const fs::path& path) const {
    return {"encoder.path=" + path.string(),
            "encoder.frozen=true",
            "encoder.width=128",
            "encoder.depth=2",
            "encoder.heads=4",
            "encoder.ffn=512",
            "encoder.vocabulary=16000",
            "gate.target_active=0.5",
            "train.epochs=12"};
  }
  TrainedTinyText scratch_{Settings{"gate.unit=none"}};
  fs::path encoder_;
};

TEST_F(FrozenText, AnEncoderIsExportedIntoANewFolderOnly) {
  EXPECT_THROW(export_encoder(scratch_.run, encoder_, text_machine()), UserError) << "it has files in it";
  const TrainedTinyText trained(frozen(encoder_));
  const fs::path again = scratch_.folder.path() / "again";
  export_encoder(trained.run, again, text_machine());
  for (const char* name : {"config.json", "model.safetensors", "tokenizer.json"})
    EXPECT_EQ(read_file(again / name), read_file(encoder_ / name)) << name;
}

TEST_F(FrozenText, TrainsGateAndHeadAloneAndKeepsNothingElse) {
  const TrainedTinyText trained(frozen(encoder_));
  const TensorMap kept = load_tensors(trained.run / "checkpoint/best.safetensors").tensors;
  for (const auto& [name, tensor] : kept) EXPECT_FALSE(name.starts_with("encoder.transformer")) << name;
  EXPECT_TRUE(kept.contains("encoder.feature_mean"));
  TextRun before(scratch_.run, text_machine()), after(trained.run, text_machine());
  const TensorMap first = before.model->weights(), second = after.model->weights();
  int64_t compared = 0;
  for (const auto& [name, tensor] : first) {
    if (!name.starts_with("encoder.")) continue;
    EXPECT_TRUE(at::equal(tensor, second.at(name))) << name;
    ++compared;
  }
  EXPECT_GT(compared, 10);
}

TEST_F(FrozenText, FeaturesThatWereKeptSayWhatTheTextsSay) {
  const TrainedTinyText trained(frozen(encoder_));
  TextRun run(trained.run, text_machine());
  const Predictions by_features = run.predict(Split::test);
  const TextRows texts = run.rows(Split::test);
  const Predictions by_tokens = predict_texts(*run.model, run.gate_state, texts, run.text.classes, torch::kCPU);
  ASSERT_EQ(by_features.probabilities.size(), by_tokens.probabilities.size());
  EXPECT_LT(testing_tools::gap_of(by_features.probabilities, by_tokens.probabilities), 1e-5);
}

TEST_F(FrozenText, TheInterfaceIsScaledByTrainingTexts) {
  const TrainedTinyText trained(frozen(encoder_));
  TextRun run(trained.run, text_machine());
  auto& encoder = dynamic_cast<TextEncoder&>(run.model->encoder());
  torch::NoGradGuard no_grad;
  run.model->eval();
  std::vector<torch::Tensor> parts;
  for_each_block(run.rows(Split::train), torch::kCPU, [&](std::span<const int64_t>, TextBatch& batch) {
    GatePass pass = GatePass::evaluation(run.gate_state, batch.example_ids);
    parts.push_back(encoder.forward(batch, pass));
  });
  const torch::Tensor all = at::cat(parts);
  EXPECT_LT(all.mean(0).abs().max().item<double>(), 1e-3);
  EXPECT_LT((all.square().mean(0) - 1).abs().max().item<double>(), 1e-2);
}

TEST_F(FrozenText, AnEncoderThatChangedIsRefused) {
  const fs::path copy = scratch_.folder.path() / "copy";
  fs::copy(encoder_, copy);
  const TrainedTinyText trained(frozen(copy));
  fs::remove(copy / "model.safetensors");
  try {
    TextRun run(trained.run, text_machine());
    FAIL() << "it was opened";
  } catch (const UserError& error) {
    EXPECT_NE(std::string(error.what()).find("gone"), std::string::npos) << error.what();
  }
}

TEST(TextTraining, PretrainedWeightsAreTheStart) {
  const TrainedTinyText scratch(Settings{"gate.unit=none"});
  const fs::path folder = folder_of_encoder(scratch, scratch.folder.path() / "encoder");
  const Config config = tiny_text_config({"encoder.path=" + folder.string(), "encoder.width=128", "encoder.depth=2",
                                          "encoder.heads=4", "encoder.ffn=512", "encoder.vocabulary=16000", "train.lr=1e-30",
                                          "train.epochs=3", "train.weight_decay=0", "gate.unit=none"});
  const TrainedTinyText tuned(&config);
  TextRun before(scratch.run, text_machine()), after(tuned.run, text_machine());
  const TensorMap first = before.model->weights(), second = after.model->weights();
  for (const auto& [name, tensor] : first) {
    if (name.starts_with("encoder.")) EXPECT_TRUE(at::allclose(tensor, second.at(name), 0, 1e-6)) << name;
  }
}

TEST(TextTraining, ADeeperRunIsAStartForItsFirstLayers) {
  const TrainedTinyText deep(Settings{"encoder.depth=3", "gate.unit=none"});
  const std::string start = "model.init_from=" + deep.run.string();
  const Settings still = {"gate.unit=none",       "train.lr=1e-30", "train.head_lr=1e-30",
                          "train.weight_decay=0", "train.epochs=1", start};
  const auto with_depth = [&](const std::string& depth) {
    Settings settings = still;
    settings.push_back("encoder.depth=" + depth);
    return tiny_text_config(settings);
  };
  const Config fewer = with_depth("2"), more = with_depth("4");
  const TrainedTinyText first(&fewer);
  TextRun before(deep.run, text_machine()), after(first.run, text_machine());
  const TensorMap all = before.model->weights(), kept = after.model->weights();
  EXPECT_LT(kept.size(), all.size());
  for (const auto& [name, tensor] : kept) EXPECT_TRUE(at::allclose(tensor, all.at(name), 0, 1e-6)) << name;
  try {
    TrainedTinyText none(&more);
    FAIL() << "there is no fourth layer to start from";
  } catch (const UserError& error) {
    EXPECT_NE(std::string(error.what()).find("layer3"), std::string::npos) << error.what();
  }
}

TEST(TextTraining, LayersLearnAtRatesOfTheirOwn) {
  const Config config = tiny_text_config({"encoder.depth=2", "encoder.layer_decay=0.5"});
  const TextModality text;
  const auto dataset = text.load(config);
  const auto record = text.fit(*dataset, config);
  const auto model = text.make_model(*record, config, 0);
  const auto groups = model->parameter_groups().encoder;
  ASSERT_EQ(groups.size(), 3u) << "embeddings and two layers";
  EXPECT_TRUE(groups.contains(1.0) && groups.contains(0.5) && groups.contains(0.25));
  for (const auto& [name, tensor] : groups.at(0.25)) EXPECT_NE(name.find("embeddings"), std::string::npos) << name;
}

TEST(TextTraining, OptionsThatContradictAreRefusedBeforeAnythingIsRead) {
  const TextModality text;
  const auto refused = [&](const Settings& settings) {
    try {
      text.check(tiny_text_config(settings), text_machine());
    } catch (const UserError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_NE(refused({"model.name=pretrained"}).find("encoder.path"), std::string::npos);
  EXPECT_NE(refused({"encoder.frozen=true"}).find("nothing to freeze"), std::string::npos);
  EXPECT_NE(refused({"train.matmul=bfloat16", "train.precision=float64"}).find("float64"), std::string::npos);
  EXPECT_NE(refused({"train.matmul=tf32"}).find("graphs"), std::string::npos);
  EXPECT_EQ(refused({}), "");
}

TEST(PerturbedText, QuantisedVectorsAreOnLevelsAndSpecialTokensStay) {
  const TrainedTinyText trained(Settings{"gate.unit=none", "train.epochs=3"});
  TextRun run(trained.run, text_machine());
  const auto& encoder = dynamic_cast<TextEncoder&>(run.model->encoder());
  for (const Perturbation& perturbation : perturbations()) {
    if (perturbation.damage != Damage::quantise && perturbation.damage != Damage::noise) continue;
    const PerturbedTexts texts(run.rows(Split::test), perturbation, 0, *run.text.tokenizer, encoder);
    const std::vector<int64_t> positions = {0, 1, 2};
    const auto batch = make_batch(texts.rows(), positions, torch::kCPU);
    const torch::Tensor plain = encoder.word_vectors(batch->tokens);
    ASSERT_TRUE(batch->word_vectors.defined());
    const torch::Tensor moved = (batch->word_vectors - plain).abs().amax(1).gt(0);
    const SpecialTokens& special = run.text.tokenizer->special();
    const torch::Tensor spared = batch->tokens.eq(special.cls) | batch->tokens.eq(special.sep);
    EXPECT_FALSE((moved & spared).any().item<bool>()) << perturbation.name;
    EXPECT_GT(moved.sum().item<int64_t>(), spared.logical_not().sum().item<int64_t>() / 2) << perturbation.name;
  }
}

}  // namespace
}  // namespace l0gm
