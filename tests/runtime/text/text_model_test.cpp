#include "runtime/text/text_model.h"

#include <gtest/gtest.h>

#include <thread>

#include "base/files.h"
#include "l0gm/error.h"
#include "runtime/finish_row.h"
#include "runtime/text/reference_text.h"
#include "runtime/text/text_file_predictor.h"
#include "support/temporary_folder.h"

namespace l0gm {
namespace {

using namespace testing_tools;

// A sample as a file, what its numbers are, and what it should say.
struct SampleFile {
  TemporaryFolder folder;
  std::filesystem::path path = folder.path() / "m.l0gm";
  TextHeader header;
  DrawnTensors tensors;
  explicit SampleFile(const SampleText& sample)
      : header(sample_text_header(sample)), tensors(drawn_tensors(header.net, sample.seed)) {
    write_sample_text(path, header, tensors);
  }
  TextModel model(int threads = 1, bool calibrated = false) const {
    return TextModel(Container::read(path), {.threads = threads, .calibrated = calibrated});
  }
  std::vector<float> predicted(const std::vector<std::string>& texts, const TextModel& model) const {
    const std::vector<std::string_view> cells(texts.begin(), texts.end());
    std::vector<float> p(texts.size() * header.classes.size());
    model.predict(cells, p.data(), nullptr);
    return p;
  }
  // The largest difference from the reference over the sample's texts.
  double gap(const TextModel& model) const {
    const std::vector<float> found = predicted(sample_texts(), model);
    const ReferenceText reference(header, tensors);
    double largest = 0;
    size_t i = 0;
    for (const std::string& text : sample_texts())
      for (const double p : reference.probabilities(text)) largest = std::max(largest, std::abs(p - found[i++]));
    return largest;
  }
};

#define NEEDS_ONEDNN() \
  if (!onednn::obstacle().empty()) GTEST_SKIP() << onednn::obstacle()

std::vector<SampleText> every_sample() {
  std::vector<SampleText> samples;
  for (const std::string type : {"bert", "distilbert", "roberta"}) {
    for (const Pooling pooling : {Pooling::mean, Pooling::cls}) {
      SampleText sample;
      sample.model_type = type;
      sample.pooling = pooling;
      samples.push_back(sample);
    }
  }
  samples[0].activation = "gelu_new";
  samples[1].activation = "relu";
  samples[1].token_factors = true;
  samples[2].classes = 3, samples[2].members = 2, samples[2].selected = {0, 5, 23};
  samples[3].scaled = true;
  samples[4].token_factors = true, samples[4].scaled = true, samples[4].selected = {7};
  samples[5].hidden = 64, samples[5].heads = 2, samples[5].intermediate = 128, samples[5].layers = 3;
  SampleText odd;  // nothing fits a vector
  odd.hidden = 15, odd.heads = 5, odd.intermediate = 7, odd.layers = 1;
  samples.push_back(odd);
  for (const Pooling pooling : {Pooling::mean, Pooling::cls}) {
    for (const LayerShape last : {LayerShape{2, 9}, LayerShape{0, 40}, LayerShape{3, 0}, LayerShape{0, 0}}) {
      SampleText narrowed;
      narrowed.pooling = pooling;
      narrowed.layers = 3;
      narrowed.narrowed = {{1, 16}, {0, 3}, last};
      samples.push_back(narrowed);
    }
  }
  return samples;
}

TEST(TextModel, SaysWhatTheDefinitionSays) {
  NEEDS_ONEDNN();
  for (const SampleText& sample : every_sample()) {
    SCOPED_TRACE(sample.model_type + " " + std::to_string(sample.hidden) + " " + std::string(name_of_enum(sample.pooling)));
    const SampleFile file(sample);
    EXPECT_LE(file.gap(file.model()), 2e-6);
  }
}

TEST(TextProgram, EveryInstructionSetSaysTheSame) {
  NEEDS_ONEDNN();
  for (const SampleText& sample : every_sample()) {
    const SampleFile file(sample);
    const Container container = Container::read(file.path);
    std::vector<int32_t> ids;
    std::vector<int64_t> offsets = {0};
    for (const std::string& text : sample_texts()) {
      file.header.tokenizer->encode(text, file.header.max_tokens, ids);
      offsets.push_back(std::ssize(ids));
    }
    const auto logits_of = [&](InstructionSet set) {
      const TextProgram program(file.header.net, file.header.weights, container.tensors(), set);
      TextWorkspace workspace;
      TextPass pass(program, {ids, offsets}, workspace, false);
      pass.run(workspace);
      std::vector<float> logits((offsets.size() - 1) * static_cast<size_t>(file.header.net.members * file.header.net.outputs()));
      pass.logits(logits.data());
      return logits;
    };
    const std::vector<float> wanted = logits_of(usable_instruction_sets().front());
    for (const InstructionSet set : usable_instruction_sets()) {
      SCOPED_TRACE(name_of_enum(set));
      const std::vector<float> found = logits_of(set);
      for (size_t i = 0; i < wanted.size(); ++i) EXPECT_NEAR(found[i], wanted[i], 2e-5);
    }
  }
}

// What rounding weights does is in the reference; what is left is what rounding inputs of products does.
TEST(TextModel, RoundedProductsStayClose) {
  NEEDS_ONEDNN();
  for (SampleText sample : every_sample()) {
    SCOPED_TRACE(sample.model_type + " " + std::to_string(sample.hidden));
    for (const WeightType weights : {WeightType::bfloat16, WeightType::int8}) {
      sample.weights = weights;
      const SampleFile file(sample);
      const TextModel model = file.model();
      const bool exact = model.program().numbers() == onednn::Numbers::float32;  // a processor without such products
      EXPECT_LE(file.gap(model), exact ? 2e-6 : 0.06) << name_of_enum(weights);
      if (!exact) {
        EXPECT_GT(file.gap(model), 1e-6) << "products were not rounded";
      }
    }
  }
}

TEST(TextModel, NeitherOrderNorCompanyChangesWhatATextIsTold) {
  NEEDS_ONEDNN();
  for (const WeightType weights : {WeightType::float32, WeightType::int8}) {
    SampleText sample;
    sample.weights = weights;
    const SampleFile file(sample);
    const TextModel model = file.model();
    std::vector<std::string> texts = sample_texts();
    const std::vector<float> together = file.predicted(texts, model);
    for (size_t i = 0; i < texts.size(); ++i) EXPECT_NEAR(file.predicted({texts[i]}, model)[1], together[2 * i + 1], 2e-6) << i;
    EXPECT_TRUE(file.predicted({}, model).empty());
    std::vector<std::string> many;
    for (int i = 0; i < 300; ++i) many.insert(many.end(), texts.begin(), texts.end());
    const std::vector<float> again = file.predicted(many, model);
    for (size_t i = 0; i < again.size(); ++i) ASSERT_NEAR(again[i], together[i % together.size()], 2e-6) << i;
  }
}

TEST(TextModel, ThreadsSayTheSameToTheLastBit) {
  NEEDS_ONEDNN();
  for (const WeightType weights : {WeightType::float32, WeightType::bfloat16, WeightType::int8}) {
    SampleText sample;
    sample.weights = weights;
    const SampleFile file(sample);
    std::vector<std::string> texts;
    for (int i = 0; i < 8; ++i)
      for (const std::string& text : sample_texts()) texts.push_back(text + " " + std::to_string(i));
    const std::vector<float> wanted = file.predicted(texts, file.model());
    const TextModel model = file.model(3);
    std::vector<std::jthread> threads;
    std::atomic<int> wrong{0};
    for (int t = 0; t < 6; ++t) {
      threads.emplace_back([&] {
        for (int i = 0; i < 5; ++i) wrong += file.predicted(texts, model) == wanted ? 0 : 1;
      });
    }
    threads.clear();
    EXPECT_EQ(wrong, 0) << name_of_enum(weights);
  }
}

// Few tokens: the threads of a call share the same texts, in phases, and calls meet each other at the workers.
TEST(TextModel, ThreadsThatShareFewTokensSayTheSameToTheLastBit) {
  NEEDS_ONEDNN();
  for (const Pooling pooling : {Pooling::mean, Pooling::cls}) {
    for (const WeightType weights : {WeightType::float32, WeightType::bfloat16, WeightType::int8}) {
      SampleText sample;
      sample.pooling = pooling;
      sample.weights = weights;
      sample.token_factors = true;
      const SampleFile file(sample);
      std::vector<std::vector<std::string>> calls = {{"one", "", "two three", "four five six seven"}};
      for (const std::string& text : sample_texts()) calls.push_back({text});
      const TextModel alone = file.model(), model = file.model(4);
      std::vector<std::vector<float>> wanted;
      for (const auto& texts : calls) wanted.push_back(file.predicted(texts, alone));
      std::atomic<int> wrong{0};
      const auto hammer = [&](size_t first) {
        for (size_t i = 0; i < 6 * calls.size(); ++i) {
          const size_t call = (first + i) % calls.size();
          wrong += file.predicted(calls[call], model) == wanted[call] ? 0 : 1;
        }
      };
      {
        std::vector<std::jthread> threads;
        for (size_t t = 0; t < 5; ++t) threads.emplace_back(hammer, 3 * t);
      }
      hammer(0);  // by itself: all workers are free
      EXPECT_EQ(wrong, 0) << name_of_enum(weights) << " " << name_of_enum(pooling);
    }
  }
}

TEST(TextModel, CalibratedOnRequest) {
  NEEDS_ONEDNN();
  const SampleFile file(SampleText{});
  const std::vector<float> raw = file.predicted(sample_texts(), file.model()),
                           calibrated = file.predicted(sample_texts(), file.model(1, true));
  for (size_t i = 0; i < raw.size(); i += 2) {
    std::vector<double> row = {raw[i], raw[i + 1]};
    file.header.calibrator.apply_to_row(row);
    EXPECT_NEAR(calibrated[i + 1], row[1], 1e-6);
  }
  EXPECT_TRUE(file.model(1, true).is_calibrated());
}

TEST(TextModel, WhatItCannotComputeIsRefusedWithTheReason) {
  SampleText sample;
  sample.model_type = "deberta-v2";
  const TextHeader header = sample_text_header(sample);
  EXPECT_NE(obstacle_of(header.net).find("DeBERTa"), std::string::npos);
  NEEDS_ONEDNN();
  EXPECT_EQ(obstacle_of(sample_text_header({}).net), "");
  const SampleFile file(SampleText{});
  EXPECT_EQ(text_obstacle(Container::read(file.path)), "");
  EXPECT_NE(message_of<UserError>([&] {
              TextModel(Container::read(file.path), {.threads = 0, .calibrated = {}});
            }).find("0 threads"),
            std::string::npos);
}

TEST(TextModel, TensorsOfOtherNamesAndShapesAreRefused) {
  NEEDS_ONEDNN();
  const SampleText sample;
  const TextHeader header = sample_text_header(sample);
  const TemporaryFolder folder;
  const auto refusal = [&](const std::function<void(DrawnTensors&)>& change) {
    DrawnTensors tensors = drawn_tensors(header.net, 1);
    change(tensors);
    write_sample_text(folder.path() / "m.l0gm", header, tensors);
    return message_of<UserError>([&] { TextModel(Container::read(folder.path() / "m.l0gm"), {}); });
  };
  const auto renamed = [](DrawnTensors& t, const std::string& from, const std::string& to) {
    t[to] = t.at(from);
    t.erase(from);
  };
  const std::string out = "encoder.transformer.layer1.attention.out.weight";
  for (const std::string& name : {std::string("head.bias"), out, std::string("encoder.transformer.embeddings.words")}) {
    const std::string message = refusal([&](DrawnTensors& t) { renamed(t, name, name + "x"); });
    EXPECT_NE(message.find("lacks '" + name), std::string::npos) << message;
    EXPECT_NE(message.find("m.l0gm"), std::string::npos) << message;
  }
  EXPECT_NE(refusal([&](DrawnTensors& t) {
              t.at(out).shape = {12, 48};
            }).find("another shape: [12, 48], wanted [24, 24]"),
            std::string::npos);
  EXPECT_NE(refusal([&](DrawnTensors& t) { t.at(out).shape = {576}; }).find("another shape"), std::string::npos);
  EXPECT_NE(refusal([&](DrawnTensors& t) { t.erase(out); }).find("numbers, its net has"), std::string::npos);
}

TEST(TextModel, LayersThatCannotBeAreRefused) {
  SampleText sample;
  sample.layers = 2;
  const auto refusal = [&](const std::vector<LayerShape>& shapes) {
    sample.narrowed = shapes;
    TextNet net = sample_text_header(sample).net;
    return message_of<UserError>([&] { TextNet::from_json(net.to_json(), 2); });
  };
  EXPECT_NE(refusal({{1, 3}}).find("one for each of 2 layers"), std::string::npos) << refusal({{1, 3}});
  EXPECT_NE(refusal({{1, 3}, {4, 3}}).find("heads"), std::string::npos) << "3 there are";
  EXPECT_NE(refusal({{1, 3}, {1, -1}}).find("neurons"), std::string::npos);
}

TEST(TextModel, WeightsThatGiveNoNumberAreSaidSo) {
  NEEDS_ONEDNN();
  const TextHeader header = sample_text_header({});
  DrawnTensors tensors = drawn_tensors(header.net, 1);
  for (float& value : tensors.at("encoder.transformer.layer1.feed_forward_norm.bias").values) value = 3e38F;
  const TemporaryFolder folder;
  write_sample_text(folder.path() / "m.l0gm", header, tensors);
  const TextModel model(Container::read(folder.path() / "m.l0gm"), {});
  const std::vector<std::string_view> texts = {"one two", "three"};
  std::vector<float> p(4);
  EXPECT_THROW(model.predict(texts, p.data(), nullptr), NotFiniteError);
}

// Files of earlier versions stay readable and say what they said.
TEST(TextModel, KeptFiles) {
  NEEDS_ONEDNN();
  const std::filesystem::path folder = std::filesystem::path(L0GM_SOURCE_DIR) / "tests/runtime/files";
  for (const std::string name : {"version1_text", "version1_text_bfloat16", "version1_text_int8", "version1_text_narrowed"}) {
    const nlohmann::json expected = nlohmann::json::parse(read_file(folder / (name + ".json")));
    const TextModel model(Container::read(folder / (name + ".l0gm")), {.threads = 1, .calibrated = false});
    const double close = model.program().numbers() == onednn::Numbers::float32 ? 2e-6 : 0.03;
    for (size_t i = 0; i < expected["texts"].size(); ++i) {
      const auto text = expected["texts"][i].get<std::string>();
      const std::vector<std::string_view> texts = {text};
      std::vector<float> p(3);
      model.predict(texts, p.data(), nullptr);
      for (size_t c = 0; c < 3; ++c) EXPECT_NEAR(p[c], expected["probabilities"][i][c].get<double>(), close) << name << i;
    }
  }
}

TEST(TextFilePredictor, ReadsTextsOfAnyBytes) {
  NEEDS_ONEDNN();
  const SampleFile file(SampleText{});
  const TextFilePredictor predictor(Container::read(file.path), false, 2);
  EXPECT_EQ(predictor.columns(), std::vector<std::string>{"review"});
  EXPECT_EQ(predictor.delimiter(), ';');
  EXPECT_TRUE(predictor.reads_texts() && predictor.concurrent() && predictor.uses_threads());
  const std::vector<std::string> texts = sample_texts();
  const std::vector<std::string_view> cells(texts.begin(), texts.end());
  std::vector<float> p(texts.size() * 2);
  InputCounts counts = predictor.empty_counts();
  predictor.predict({cells, std::ssize(texts)}, p, counts);
  EXPECT_EQ(counts.missing, std::vector<int64_t>{2});
  EXPECT_EQ(p, file.predicted(texts, file.model()));
}

}  // namespace
}  // namespace l0gm
