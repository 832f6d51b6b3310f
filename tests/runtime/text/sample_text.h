#pragma once

#include <cmath>
#include <deque>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "base/random.h"
#include "runtime/packed_rows.h"
#include "runtime/text/text_header.h"

// Small text models of every family with drawn numbers, as files, for the tests of the runtime: no LibTorch here.
namespace l0gm::testing_tools {

struct SampleText {
  std::string model_type = "bert";
  std::string activation = "gelu";
  Pooling pooling = Pooling::mean;
  int64_t hidden = 24, layers = 2, heads = 3, intermediate = 40;
  std::vector<LayerShape> narrowed = {};  // what layers have left; empty: all
  int64_t members = 1, classes = 2;
  std::vector<int64_t> selected;
  bool scaled = false, token_factors = false;
  WeightType weights = WeightType::float32;
  int64_t max_tokens = 150;
  uint64_t seed = 1;
};

// With everything that a net can have, in a file of some kilobytes.
inline SampleText small_text(WeightType weights) {
  return {.pooling = weights == WeightType::int8 ? Pooling::cls : Pooling::mean,
          .hidden = 8,
          .layers = 1,
          .heads = 2,
          .intermediate = 12,
          .members = 2,
          .classes = 3,
          .selected = {0, 3, 7},
          .scaled = true,
          .token_factors = true,
          .weights = weights,
          .max_tokens = 20};
}

// The same with layers that have lost heads and neurons, one of them all.
inline SampleText small_narrowed_text() {
  SampleText sample = small_text(WeightType::float32);
  sample.layers = 3;
  sample.narrowed = {{1, 5}, {0, 0}, {2, 3}};
  return sample;
}

inline TextHeader sample_text_header(const SampleText& sample) {
  TextHeader header;
  header.tokenizer = train_tokenizer({"one two three four", "five six seven", "eight nine ten eleven twelve"}, 200);
  const int64_t vocabulary = header.tokenizer->vocabulary_size() + 3;
  nlohmann::json config = {{"model_type", sample.model_type}, {"vocab_size", vocabulary}, {"max_position_embeddings", 160}};
  if (sample.model_type == "distilbert") {
    config.update({{"dim", sample.hidden},
                   {"n_layers", sample.layers},
                   {"n_heads", sample.heads},
                   {"hidden_dim", sample.intermediate},
                   {"activation", sample.activation}});
  } else {
    config.update({{"hidden_size", sample.hidden},
                   {"num_hidden_layers", sample.layers},
                   {"num_attention_heads", sample.heads},
                   {"intermediate_size", sample.intermediate},
                   {"hidden_act", sample.activation},
                   {"type_vocab_size", 2}});
  }
  if (sample.model_type == "deberta-v2") config.update({{"relative_attention", true}, {"pos_att_type", "c2p|p2c"}});
  header.net.encoder = parse_transformer_config(config, "sample");
  header.net.encoder.narrowed = sample.narrowed;
  header.net.pooling = sample.pooling;
  header.net.members = sample.members;
  header.net.classes = sample.classes;
  header.net.selected = sample.selected;
  header.net.scaled = sample.scaled;
  header.net.token_factors = sample.token_factors;
  header.column = "review";
  header.delimiter = ';';
  header.max_tokens = sample.max_tokens;
  for (int64_t c = 0; c < sample.classes; ++c) header.classes.push_back(std::string(1, static_cast<char>('k' + c)));
  header.calibrator.kind = CalibratorKind::temperature;
  header.calibrator.temperature = 1.5;
  header.about = {{"dataset", "sample"}};
  header.weights = sample.weights;
  return header;
}

struct DrawnTensor {
  std::vector<int64_t> shape;
  std::vector<float> values;
};
using DrawnTensors = std::map<std::string, DrawnTensor>;

// Every tensor of a net that the runtime computes, in the order in which they are listed; norms near 1, the rest of sizes as
// trained models have.
inline DrawnTensors drawn_tensors(const TextNet& net, uint64_t seed) {
  DrawnTensors tensors;
  RandomStream random(seed);
  const auto draw = [&](const std::string& name, std::vector<int64_t> shape, double deviation, double mean = 0) {
    int64_t count = 1;
    for (const int64_t extent : shape) count *= extent;
    DrawnTensor& tensor = tensors[name];
    tensor.shape = std::move(shape);
    for (int64_t i = 0; i < count; ++i) tensor.values.push_back(static_cast<float>(mean + deviation * random.normal()));
  };
  const TransformerConfig& c = net.encoder;
  const auto draw_norm = [&](const std::string& name) {
    draw(name + ".weight", {c.hidden}, 0.1, 1);
    draw(name + ".bias", {c.hidden}, 0.1);
  };
  const auto draw_map = [&](const std::string& name, int64_t outputs, int64_t inputs) {
    draw(name + ".weight", {outputs, inputs}, 1.2 / std::sqrt(static_cast<double>(inputs)));
    draw(name + ".bias", {outputs}, 0.1);
  };
  const std::string encoder = "encoder.transformer.";
  draw(encoder + "embeddings.words", {c.vocabulary, c.hidden}, 1);
  draw(encoder + "embeddings.positions", {c.positions, c.hidden}, 0.5);
  if (c.token_types > 0) draw(encoder + "embeddings.types", {c.token_types, c.hidden}, 0.5);
  draw_norm(encoder + "embeddings.norm");
  for (int64_t i = 0; i < c.layers; ++i) {
    const std::string layer = encoder + "layer" + std::to_string(i) + ".";
    const int64_t width = c.shape_of(i).heads * c.head_width(), neurons = c.shape_of(i).intermediate;
    draw_map(layer + "attention.qkv", 3 * width, c.hidden);
    draw_map(layer + "attention.out", c.hidden, width);
    draw_norm(layer + "attention_norm");
    draw_map(layer + "feed_forward.in", neurons, c.hidden);
    draw_map(layer + "feed_forward.out", c.hidden, neurons);
    draw_norm(layer + "feed_forward_norm");
  }
  if (net.token_factors) draw("encoder.token_factors", {4, c.hidden}, 0.3, 1);
  if (net.scaled) {
    draw("encoder.feature_mean", {c.hidden}, 0.3);
    draw("encoder.feature_factor", {c.hidden}, 0.2, 1);
  }
  draw("head.linear.weight0", {net.members, net.head_width(), net.outputs()}, 0.7);
  draw("head.bias", {net.members, net.outputs()}, 0.3);
  return tensors;
}

// Writes the file; what the tensors are after rounding is left in `tensors`.
inline void write_sample_text(const std::filesystem::path& path, const TextHeader& header, DrawnTensors& tensors) {
  ContainerWriter writer("text");
  std::deque<RoundedMatrix> rounded;
  for (auto& [name, tensor] : tensors) {
    const DType type = type_in_text_file(name, tensor.shape.size(), header.weights);
    if (type == DType::f32) {
      writer.add(name, type, tensor.shape, tensor.values.data(), tensor.values.size() * sizeof(float));
      continue;
    }
    Matrix matrix(tensor.shape[0], tensor.shape[1]);
    std::copy(tensor.values.begin(), tensor.values.end(), matrix.values.begin());
    const RoundedMatrix& rows = rounded.emplace_back(round_matrix(matrix, type));
    writer.add(name, type, tensor.shape, rows.elements.data(), rows.elements.size());
    if (type == DType::i8) writer.add(scales_of(name), DType::f32, {matrix.rows}, rows.scales.data(), rows.scales.size() * 4);
    const PackedRows packed = pack(rows, matrix.rows, matrix.columns);
    for (int64_t i = 0; i < matrix.rows; ++i)
      for (int64_t j = 0; j < matrix.columns; ++j)
        tensor.values[static_cast<size_t>(i * matrix.columns + j)] = static_cast<float>(packed.value(i, j));
  }
  write_text_header(writer, path, header);
}

// Texts of all lengths, odd bytes included.
inline std::vector<std::string> sample_texts() {
  static const char* const words[] = {"one", "two", "three", "four", "five", "six", "seven", "twelve", "zebra"};
  std::vector<std::string> texts = {
      "", "  ", "one", "caf\xE9 \xFF", "[CLS] one [MASK] two [SEP]", "\xE6\x97\xA5\xE6\x9C\xAC five"};
  for (const int count : {3, 13, 14, 15, 16, 30, 31, 70, 200}) {
    std::string text;
    for (int i = 0; i < count; ++i) text += std::string(words[static_cast<size_t>(i * 5 + count) % std::size(words)]) + " ";
    texts.push_back(text);
  }
  return texts;
}

}  // namespace l0gm::testing_tools
