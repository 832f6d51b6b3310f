#include "runtime/text/text_weights.h"

#include <fmt/format.h>

#include <cstring>

#include "base/json_checks.h"
#include "base/text.h"
#include "l0gm/error.h"

namespace l0gm {

namespace {

using Tensors = std::map<std::string, TensorBytes>;
using kernels::padded;
using onednn::Numbers;

std::string shape_text(const std::vector<int64_t>& shape) {
  std::vector<std::string> extents;
  for (const int64_t extent : shape) extents.push_back(std::to_string(extent));
  return "[" + join(extents, ", ") + "]";
}

const TensorBytes& tensor_of(const Tensors& tensors, const std::string& name, const std::vector<int64_t>& shape) {
  const auto found = tensors.find(name);
  if (found == tensors.end()) throw UserError(fmt::format("it lacks '{}', which its net has", name));
  if (found->second.shape != shape) {
    throw UserError(
        fmt::format("'{}' is of another shape: {}, wanted {}", name, shape_text(found->second.shape), shape_text(shape)));
  }
  return found->second;
}

std::vector<float> floats_of(const Tensors& tensors, const std::string& name, const std::vector<int64_t>& shape) {
  const TensorBytes& tensor = tensor_of(tensors, name, shape);
  std::vector<float> numbers(tensor.bytes.size() / sizeof(float));
  if (!numbers.empty()) std::memcpy(numbers.data(), tensor.bytes.data(), numbers.size() * sizeof(float));
  return numbers;
}

AlignedBuffer<float> padded_copy(const float* numbers, int64_t count) {
  AlignedBuffer<float> copy(static_cast<size_t>(padded(count)));
  std::copy_n(numbers, count, copy.data());
  return copy;
}

PackedRows rows_of(const Tensors& tensors, const std::string& name, int64_t rows, int64_t columns) {
  const TensorBytes& tensor = tensor_of(tensors, name, {rows, columns});
  const bool scaled = tensor.dtype == DType::i8;
  return {rows, columns, tensor.dtype, tensor.bytes.data(),
          scaled ? floats_of(tensors, scales_of(name), {rows}) : std::vector<float>()};
}

TextNorm norm_of(const Tensors& tensors, const std::string& name, const TransformerConfig& config) {
  const auto of = [&](const char* part) {
    return padded_copy(floats_of(tensors, fmt::format("{}{}", name, part), {config.hidden}).data(), config.hidden);
  };
  return {of(".weight"), of(".bias"), static_cast<float>(config.norm_epsilon)};
}

// Position p of a text reads row p; the vector of the token type is the same for all tokens and added here once.
PackedRows positions_of(const Tensors& tensors, const TransformerConfig& config) {
  const std::string name = "encoder.transformer.embeddings.positions";
  const PackedRows stored = rows_of(tensors, name, config.positions, config.hidden);
  std::optional<PackedRows> types;
  if (config.token_types > 0) types = rows_of(tensors, "encoder.transformer.embeddings.types", config.token_types, config.hidden);
  const int64_t rows = config.longest_text(), first = config.first_position();
  std::vector<float> sum(static_cast<size_t>(rows * config.hidden));
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < config.hidden; ++j) {
      const double type = types ? types->value(0, j) : 0;
      sum[static_cast<size_t>(i * config.hidden + j)] = static_cast<float>(stored.value(first + i, j) + type);
    }
  }
  return {rows, config.hidden, DType::f32, sum.data(), {}};
}

TextLayer layer_of(const Tensors& tensors, const TransformerConfig& config, int64_t index, bool first_only, Numbers numbers) {
  const std::string prefix = fmt::format("encoder.transformer.layer{}.", index);
  const int64_t hidden = config.hidden;
  TextLayer layer;
  const LayerShape shape = config.shape_of(index);
  layer.heads = shape.heads;
  layer.head_width = config.head_width();
  layer.first_only = first_only;
  const int64_t width = layer.attention_width();
  const auto make = [&](std::optional<TextLinear>& linear, const char* name, int64_t outputs, int64_t inputs, int64_t begin,
                        int64_t end) {
    linear.emplace(tensors, TextLinear::Part{fmt::format("{}{}", prefix, name), outputs, inputs, begin, end}, numbers);
  };
  if (width == 0) {
    tensor_of(tensors, prefix + "attention.qkv.weight", {0, hidden});
  } else if (first_only) {
    make(layer.queries, "attention.qkv", 3 * width, hidden, 0, width);
    make(layer.keys_values, "attention.qkv", 3 * width, hidden, width, 3 * width);
  } else {
    make(layer.attention_in, "attention.qkv", 3 * width, hidden, 0, 3 * width);
  }
  make(layer.attention_out, "attention.out", hidden, width, 0, hidden);
  if (shape.intermediate > 0) make(layer.feed_in, "feed_forward.in", shape.intermediate, hidden, 0, shape.intermediate);
  make(layer.feed_out, "feed_forward.out", hidden, shape.intermediate, 0, hidden);
  layer.attention_norm = norm_of(tensors, prefix + "attention_norm", config);
  layer.feed_norm = norm_of(tensors, prefix + "feed_forward_norm", config);
  return layer;
}

}  // namespace

TextLinear::TextLinear(const Tensors& tensors, const Part& part, Numbers numbers)
    : inputs_(part.inputs), outputs_(part.end - part.begin), numbers_(part.inputs > 0 ? numbers : Numbers::float32) {
  if (inputs_ == 0) {  // the bias is all that is left
    tensor_of(tensors, fmt::format("{}.weight", part.name), {part.outputs, 0});
    const std::vector<float> bias = floats_of(tensors, fmt::format("{}.bias", part.name), {part.outputs});
    bias_ = padded_copy(bias.data() + part.begin, outputs_);
    return;
  }
  const PackedRows stored = rows_of(tensors, fmt::format("{}.weight", part.name), part.outputs, part.inputs);
  const std::vector<float> bias = floats_of(tensors, fmt::format("{}.bias", part.name), {part.outputs});
  bias_ = padded_copy(bias.data() + part.begin, outputs_);
  const onednn::MatrixProduct::Shape shape{numbers, outputs_, inputs_, padded(inputs_), padded(outputs_)};
  if (numbers == Numbers::float32 && stored.type() == DType::f32) {
    product_.emplace(shape, stored.row<float>(part.begin), stored.stride(), bias_.data());
    return;
  }
  if (numbers == Numbers::float32) {
    AlignedBuffer<float> expanded(static_cast<size_t>(outputs_ * inputs_));
    for (int64_t i = 0; i < outputs_; ++i)
      for (int64_t j = 0; j < inputs_; ++j)
        expanded.data()[i * inputs_ + j] = static_cast<float>(stored.value(part.begin + i, j));
    product_.emplace(shape, expanded.data(), inputs_, bias_.data());
    return;
  }
  if (numbers == Numbers::bfloat16) {
    product_.emplace(shape, stored.row<uint16_t>(part.begin), stored.stride(), bias_.data());
    return;
  }
  product_.emplace(shape, stored.row<int8_t>(part.begin), stored.stride(), nullptr);
  scales_ = padded_copy(stored.scales() + part.begin, outputs_);
  offsets_.resize(static_cast<size_t>(padded(outputs_)));
  for (int64_t i = 0; i < outputs_; ++i) {
    const int8_t* const row = stored.row<int8_t>(part.begin + i);
    int64_t sum = 0;
    for (int64_t j = 0; j < inputs_; ++j) sum += row[j];
    offsets_.data()[i] = scales_.data()[i] * static_cast<float>(sum);
  }
}

text_kernels::Products TextLinear::products(const void* values, const float* row_scales, const float* row_zeros) const {
  if (numbers_ != Numbers::int8) return {values, padded(outputs_), false, nullptr, nullptr, nullptr, nullptr, nullptr};
  return {values, padded(outputs_), true, row_scales, row_zeros, scales_.data(), offsets_.data(), bias_.data()};
}

size_t TextWeights::bytes() const {
  size_t sum = words.bytes() + positions.bytes();
  for (const TextLayer& layer : layers) {
    for (const auto* linear :
         {&layer.attention_in, &layer.queries, &layer.keys_values, &layer.attention_out, &layer.feed_in, &layer.feed_out}) {
      if (linear->has_value()) sum += (*linear)->bytes();
    }
  }
  return sum + (head_weight.size() + head_bias.size()) * sizeof(float);
}

std::string obstacle_of(const TextNet& net) {
  if (net.encoder.family == TransformerFamily::deberta)
    return "its encoder is a DeBERTa, whose attention also reads distances: that is computed with LibTorch alone";
  return onednn::obstacle();
}

std::string text_obstacle(const Container& file) {
  return file.explain([&] {
    if (file.kind() != "text") throw UserError(fmt::format("it is a model of kind '{}', wanted 'text'", file.kind()));
    return obstacle_of(TextNet::from_json(json_checks::member(file.manifest(), "manifest", "net"), 2));
  });
}

Numbers numbers_for(WeightType weights) {
  const Numbers wanted = weights == WeightType::int8       ? Numbers::int8
                         : weights == WeightType::bfloat16 ? Numbers::bfloat16
                                                           : Numbers::float32;
  return onednn::is_fast(wanted) ? wanted : Numbers::float32;
}

TextWeights read_text_weights(const Tensors& tensors, const TextNet& net, Numbers numbers) {
  const TransformerConfig& config = net.encoder;
  TextWeights weights;
  weights.words = rows_of(tensors, "encoder.transformer.embeddings.words", config.vocabulary, config.hidden);
  weights.positions = positions_of(tensors, config);
  weights.embedding_norm = norm_of(tensors, "encoder.transformer.embeddings.norm", config);
  for (int64_t i = 0; i < config.layers; ++i) {
    const bool first_only = net.pooling == Pooling::cls && i + 1 == config.layers;
    weights.layers.push_back(layer_of(tensors, config, i, first_only, numbers));
  }
  if (net.token_factors) {
    const auto blocks = static_cast<int64_t>(token_block_starts.size());
    const std::vector<float> factors = floats_of(tensors, "encoder.token_factors", {blocks, config.hidden});
    weights.token_factors.resize(static_cast<size_t>(blocks * padded(config.hidden)));
    for (int64_t b = 0; b < blocks; ++b)
      std::copy_n(factors.data() + b * config.hidden, config.hidden, weights.token_factors.data() + b * padded(config.hidden));
  }
  if (net.scaled) {
    weights.feature_mean = floats_of(tensors, "encoder.feature_mean", {config.hidden});
    weights.feature_factor = floats_of(tensors, "encoder.feature_factor", {config.hidden});
  }
  weights.head_weight = floats_of(tensors, "head.linear.weight0", {net.members, net.head_width(), net.outputs()});
  weights.head_bias = floats_of(tensors, "head.bias", {net.members, net.outputs()});
  return weights;
}

}  // namespace l0gm
