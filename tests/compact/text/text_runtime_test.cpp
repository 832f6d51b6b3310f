#include <ATen/Functions.h>
#include <gtest/gtest.h>

#include "compact/text/text_predictor.h"
#include "compact/text/tiny_text.h"
#include "encoders/text/load_encoder.h"
#include "runtime/text/text_file_predictor.h"
#include "support/real_weights.h"

// The runtime without LibTorch against LibTorch, from the same file.
namespace l0gm {
namespace {

using namespace testing_tools;

constexpr double bound = 1e-4;  // of texts in float32

TextHeader header_of(const TransformerConfig& config, std::shared_ptr<const Tokenizer> tokenizer) {
  TextHeader header;
  header.net.encoder = config;
  header.tokenizer = std::move(tokenizer);
  header.column = "text";
  header.max_tokens = std::min<int64_t>(128, config.longest_text());
  header.classes = {"no", "yes"};
  header.about = nlohmann::json::object();
  return header;
}

// A model with the encoder's numbers, or drawn ones, and a drawn head.
std::shared_ptr<Model> model_of(const TextNet& net, const Transformer* encoder) {
  at::manual_seed(5);
  torch::NoGradGuard no_grad;
  const auto model = make_model(net);
  for (const auto& [name, tensor] : tensors_of_text_model(*model)) {
    if (name.starts_with("head.") || (encoder == nullptr && tensor.dim() == 2)) torch::Tensor(tensor).normal_(0, 0.3);
  }
  if (encoder == nullptr) return model;
  auto& own = dynamic_cast<TextEncoder&>(model->encoder()).transformer();
  const auto from = encoder->named_tensors(), to = own.named_tensors();
  for (size_t i = 0; i < to.size(); ++i) torch::Tensor(to[i].tensor).copy_(from[i].tensor);
  return model;
}

double gap_between(const std::filesystem::path& file, const std::vector<std::string>& texts) {
  const TextFilePredictor runtime(Container::read(file), false, 2);
  return gap_of(told(runtime, texts), told(TextPredictor(file, {false, text_machine(), {}}), texts));
}

TEST(TextRuntime, SaysWhatLibTorchSays) {
  if (!onednn::obstacle().empty()) GTEST_SKIP() << onednn::obstacle();
  const TemporaryFolder folder;
  const auto tokenizer = train_tokenizer({"word0 word1 word2", "word3 word4", "word5 word6 a"}, 120);
  for (const std::string type : {"bert", "distilbert", "roberta", "xlm-roberta"}) {
    for (const Pooling pooling : {Pooling::mean, Pooling::cls}) {
      SCOPED_TRACE(type + " " + std::string(name_of_enum(pooling)));
      nlohmann::json json = {{"model_type", type},
                             {"vocab_size", tokenizer->vocabulary_size()},
                             {"max_position_embeddings", 140}};
      if (type == "distilbert") {
        json.update({{"dim", 32}, {"n_layers", 2}, {"n_heads", 4}, {"hidden_dim", 48}});
      } else {
        json.update({{"hidden_size", 32}, {"num_hidden_layers", 2}, {"num_attention_heads", 4}, {"intermediate_size", 48}});
      }
      TextHeader header = header_of(parse_transformer_config(json, "test"), tokenizer);
      header.net.pooling = pooling;
      write_text_model(folder.path() / "m.l0gm", header, *model_of(header.net, nullptr));
      EXPECT_LE(gap_between(folder.path() / "m.l0gm", some_texts()), 1e-5);
    }
  }
}

// Layers that differ: fewer heads, fewer neurons, none of them.
TEST(TextRuntime, NarrowedLayers) {
  if (!onednn::obstacle().empty()) GTEST_SKIP() << onednn::obstacle();
  const TemporaryFolder folder;
  const auto path = folder.path() / "m.l0gm";
  const auto tokenizer = train_tokenizer({"word0 word1 word2", "word3 word4", "word5 word6 a"}, 120);
  for (const Pooling pooling : {Pooling::mean, Pooling::cls}) {
    for (const LayerShape last : {LayerShape{3, 17}, LayerShape{0, 17}, LayerShape{3, 0}, LayerShape{0, 0}}) {
      SCOPED_TRACE(fmt::format("{} {} {}", name_of_enum(pooling), last.heads, last.intermediate));
      const nlohmann::json json = {{"model_type", "bert"},           {"vocab_size", tokenizer->vocabulary_size()},
                                   {"max_position_embeddings", 140}, {"hidden_size", 32},
                                   {"num_hidden_layers", 3},         {"num_attention_heads", 4},
                                   {"intermediate_size", 48}};
      TextHeader header = header_of(parse_transformer_config(json, "test"), tokenizer);
      header.net.pooling = pooling;
      header.net.encoder.narrowed = {{1, 40}, {0, 5}, last};
      const auto model = model_of(header.net, nullptr);
      write_text_model(path, header, *model);
      EXPECT_EQ(read_text_model(path).header.net.encoder, header.net.encoder);
      EXPECT_LE(gap_between(path, some_texts()), 1e-5);
      const std::vector<double> exact = told(TextPredictor(path, {false, text_machine(), {}}), some_texts());
      for (const auto& [rounded, most] : {std::pair(WeightType::bfloat16, 0.05), std::pair(WeightType::int8, 0.15)}) {
        header.weights = rounded;
        write_text_model(path, header, *model);
        EXPECT_LE(gap_of(told(TextFilePredictor(Container::read(path), false, 2), some_texts()), exact), most)
            << name_of_enum(rounded);
      }
    }
  }
}

TEST(TextRuntime, DebertaIsServedWithLibTorch) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "m.l0gm";
  const auto tokenizer = train_tokenizer({"word0 word1 word2"}, 120);
  const nlohmann::json json = {{"model_type", "deberta-v2"},     {"vocab_size", tokenizer->vocabulary_size()},
                               {"max_position_embeddings", 140}, {"hidden_size", 16},
                               {"num_hidden_layers", 1},         {"num_attention_heads", 2},
                               {"intermediate_size", 24},        {"relative_attention", true},
                               {"position_buckets", 8},          {"pos_att_type", "c2p|p2c"}};
  const TextHeader header = header_of(parse_transformer_config(json, "test"), tokenizer);
  write_text_model(path, header, *model_of(header.net, nullptr));
  EXPECT_NE(text_obstacle(Container::read(path)).find("DeBERTa"), std::string::npos);
  const std::string refusal = message_of<UserError>([&] { TextFilePredictor(Container::read(path), false, 1); });
  EXPECT_NE(refusal.find("DeBERTa"), std::string::npos) << refusal;
  EXPECT_NE(refusal.find("l0gm predict"), std::string::npos) << refusal;
  const auto served = open_predictor(compact_kinds(), path, {false, text_machine(), {}});
  EXPECT_EQ(dynamic_cast<const TextFilePredictor*>(served.get()), nullptr);
  EXPECT_EQ(told(*served, {"word0 word1"}).size(), 1U);
}

TEST(TextRuntime, ARealEncoder) {
  if (!onednn::obstacle().empty()) GTEST_SKIP() << onednn::obstacle();
  const std::filesystem::path weights = real_weights_folder() / "all-MiniLM-L6-v2";
  if (!std::filesystem::is_directory(weights)) GTEST_SKIP() << "no weights here";
  const TemporaryFolder folder;
  const auto path = folder.path() / "m.l0gm";
  const LoadedEncoder loaded = load_encoder(weights, {});
  TextHeader header = header_of(loaded.encoder->config(), read_tokenizer(weights));
  const auto model = model_of(header.net, loaded.encoder.get());
  std::vector<std::string> texts = some_texts();
  for (const char* text : {"That is a happy dog", "What a dreadful film, I left after ten minutes.", "The acting was superb!"})
    texts.emplace_back(text);
  write_text_model(path, header, *model);
  EXPECT_LE(gap_between(path, texts), bound);
  const std::vector<double> exact = told(TextPredictor(path, {false, text_machine(), {}}), texts);
  for (const auto& [rounded, most] : {std::pair(WeightType::bfloat16, 0.02), std::pair(WeightType::int8, 0.08)}) {
    header.weights = rounded;
    write_text_model(path, header, *model);
    EXPECT_LE(gap_of(told(TextFilePredictor(Container::read(path), false, 2), texts), exact), most) << name_of_enum(rounded);
  }
}

}  // namespace
}  // namespace l0gm
