#include "encoders/text/transformer.h"

#include <ATen/Functions.h>
#include <fmt/format.h>

#include "encoders/text/recompute.h"

namespace l0gm {

namespace {

// How a family names the parts of a layer in files.
struct LayerNames {
  const char *layer, *query, *key, *value, *attention_out, *attention_norm, *feed_in, *feed_out, *feed_norm;
};

const LayerNames& names_of(TransformerFamily family) {
  static const LayerNames bert = {"encoder.layer.{}.",    "attention.self.query",   "attention.self.key",
                                  "attention.self.value", "attention.output.dense", "attention.output.LayerNorm",
                                  "intermediate.dense",   "output.dense",           "output.LayerNorm"};
  static const LayerNames deberta = {"encoder.layer.{}.",       "attention.self.query_proj",
                                     "attention.self.key_proj", "attention.self.value_proj",
                                     "attention.output.dense",  "attention.output.LayerNorm",
                                     "intermediate.dense",      "output.dense",
                                     "output.LayerNorm"};
  static const LayerNames distilbert = {"transformer.layer.{}.", "attention.q_lin", "attention.k_lin", "attention.v_lin",
                                        "attention.out_lin",     "sa_layer_norm",   "ffn.lin1",        "ffn.lin2",
                                        "output_layer_norm"};
  if (family == TransformerFamily::distilbert) return distilbert;
  return family == TransformerFamily::deberta ? deberta : bert;
}

}  // namespace

Transformer::Transformer(const TransformerConfig& config) : config_(config) {
  embeddings = register_module("embeddings", std::make_shared<TextEmbeddings>(config));
  if (config.relative_attention)
    relative_positions = register_module("relative_positions", std::make_shared<RelativePositions>(config));
  for (int64_t i = 0; i < config.layers; ++i)
    layers.push_back(register_module(fmt::format("layer{}", i), std::make_shared<TransformerLayer>(config, i)));
  fused_ = std::make_unique<FusedLayers>(config, layers);
}

torch::Tensor Transformer::relative(const LayerPass& pass) const {
  return relative_positions == nullptr ? torch::Tensor() : relative_positions->forward(pass);
}

torch::Tensor Transformer::layer(int64_t index, const torch::Tensor& x, const LayerPass& pass, const torch::Tensor& relative,
                                 bool first_only) const {
  const std::shared_ptr<TransformerLayer>& layer = layers.at(static_cast<size_t>(index));
  if (kept_ || !at::GradMode::is_enabled()) return layer->forward(x, pass, relative, relative_positions.get(), first_only);
  // Batch and pass may be gone when the gradient is computed: their tensors are shared with copies.
  auto batch = std::make_shared<const TextBatch>(pass.batch);
  auto gates = std::make_shared<const GatePass>(pass.pass);
  const auto again = [layer, batch, gates, ids = pass.token_ids, compute = pass.compute, positions = relative_positions,
                      first_only](const std::vector<torch::Tensor>& inputs) {
    const torch::Tensor of_positions = inputs.size() > 1 ? inputs[1] : torch::Tensor();
    return layer->forward(inputs[0], {*batch, *gates, ids, compute}, of_positions, positions.get(), first_only);
  };
  std::vector<torch::Tensor> inputs = {x};
  if (relative.defined()) inputs.push_back(relative);
  return recompute(again, inputs, layer->parameters());
}

torch::Tensor Transformer::first_layers(int64_t count, const torch::Tensor& given, const LayerPass& pass,
                                        const torch::Tensor& relative) const {
  if (count > 0 && (kept_ || !at::GradMode::is_enabled()) && fused_->serves(given, pass))
    return fused_->forward(given, pass, 0, count);
  torch::Tensor x = given;
  for (int64_t i = 0; i < count; ++i) x = layer(i, x, pass, relative, false);
  return x;
}

torch::Tensor Transformer::forward(const LayerPass& pass) const {
  return first_layers(config_.layers, embed(pass), pass, relative(pass));
}

void Transformer::draw_weights() {
  torch::NoGradGuard no_grad;
  for (const auto& item : named_parameters()) {
    torch::Tensor parameter = item.value();
    if (parameter.dim() == 2) parameter.normal_(0, config_.initial_range);
  }
}

std::vector<Transformer::NamedTensor> Transformer::named_tensors() const {
  std::vector<NamedTensor> result;
  const auto add = [&](const std::string& name, const torch::Tensor& tensor) {
    if (tensor.defined()) result.push_back({name, tensor.detach()});
  };
  const auto add_norm = [&](const std::string& name, const LayerNorm& norm) {
    add(name + ".weight", norm.weight);
    add(name + ".bias", norm.bias);
  };
  const auto add_map = [&](const std::string& name, const LinearMap& map, int64_t part, int64_t parts) {
    const int64_t rows = map.weight.size(0) / parts;
    add(name + ".weight", map.weight.detach().narrow(0, part * rows, rows));
    add(name + ".bias", map.bias.detach().narrow(0, part * rows, rows));
  };
  add("embeddings.word_embeddings.weight", embeddings->words);
  add("embeddings.position_embeddings.weight", embeddings->positions);
  add("embeddings.token_type_embeddings.weight", embeddings->types);
  add_norm("embeddings.LayerNorm", *embeddings->norm);
  if (relative_positions != nullptr) {
    add("encoder.rel_embeddings.weight", relative_positions->rows);
    if (relative_positions->norm != nullptr) add_norm("encoder.LayerNorm", *relative_positions->norm);
  }
  const LayerNames& names = names_of(config_.family);
  for (size_t i = 0; i < layers.size(); ++i) {
    const std::string prefix = fmt::format(fmt::runtime(names.layer), i);
    const TransformerLayer& layer = *layers[i];
    add_map(prefix + names.query, *layer.attention->qkv, 0, 3);
    add_map(prefix + names.key, *layer.attention->qkv, 1, 3);
    add_map(prefix + names.value, *layer.attention->qkv, 2, 3);
    if (layer.attention->position_key) add_map(prefix + "attention.self.pos_key_proj", *layer.attention->position_key, 0, 1);
    if (layer.attention->position_query)
      add_map(prefix + "attention.self.pos_query_proj", *layer.attention->position_query, 0, 1);
    add_map(prefix + names.attention_out, *layer.attention->out, 0, 1);
    add_norm(prefix + names.attention_norm, *layer.attention_norm);
    add_map(prefix + names.feed_in, *layer.feed_forward->in, 0, 1);
    add_map(prefix + names.feed_out, *layer.feed_forward->out, 0, 1);
    add_norm(prefix + names.feed_norm, *layer.feed_forward_norm);
  }
  return result;
}

}  // namespace l0gm
