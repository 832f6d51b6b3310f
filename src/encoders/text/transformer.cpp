#include "encoders/text/transformer.h"

#include <ATen/Functions.h>
#include <fmt/format.h>

#include <algorithm>

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

namespace {

// x + z (y - x): exactly x where z is 0, and exactly y where it is 1.
torch::Tensor blended(const torch::Tensor& x, const torch::Tensor& y, const torch::Tensor& z) {
  return z.defined() ? at::lerp(x, y.to(x.scalar_type()), z.to(x.scalar_type())) : y;
}

}  // namespace

torch::Tensor Transformer::layer(int64_t index, const torch::Tensor& x, const LayerPass& pass, const torch::Tensor& relative,
                                 bool first_only, const LayerGates& gates) const {
  if (!gates.closed && !gates.layer.defined()) return plain_layer(index, x, pass, relative, first_only, gates);
  const torch::Tensor read = first_only ? x.index_select(0, pass.batch.first) : x;
  return gates.closed ? read : blended(read, plain_layer(index, x, pass, relative, first_only, gates), gates.layer);
}

torch::Tensor Transformer::plain_layer(int64_t index, const torch::Tensor& x, const LayerPass& pass,
                                       const torch::Tensor& relative, bool first_only, const LayerGates& gates) const {
  const std::shared_ptr<TransformerLayer>& layer = layers.at(static_cast<size_t>(index));
  if (kept_ || !at::GradMode::is_enabled()) return layer->forward(x, pass, relative, relative_positions.get(), first_only, gates);
  // Batch and pass may be gone when the gradient is computed: their tensors are shared with copies.
  auto batch = std::make_shared<const TextBatch>(pass.batch);
  auto pass_copy = std::make_shared<const GatePass>(pass.pass);
  std::vector<torch::Tensor> inputs = {x};
  for (const torch::Tensor& more : {relative, gates.heads, gates.neurons}) {
    if (more.defined()) inputs.push_back(more);
  }
  LayerGates indices = gates;  // what has no gradient
  indices.heads = indices.neurons = indices.layer = torch::Tensor();
  const auto again = [layer, batch, pass_copy, ids = pass.token_ids, compute = pass.compute, positions = relative_positions,
                      first_only, indices, has_heads = gates.heads.defined(),
                      has_neurons = gates.neurons.defined()](const std::vector<torch::Tensor>& given) {
    size_t next = 1;
    const torch::Tensor of_positions = positions != nullptr ? given[next++] : torch::Tensor();
    LayerGates own = indices;
    if (has_heads) own.heads = given[next++];
    if (has_neurons) own.neurons = given[next++];
    return layer->forward(given[0], {*batch, *pass_copy, ids, compute}, of_positions, positions.get(), first_only, own);
  };
  return recompute(again, inputs, layer->parameters());
}

torch::Tensor Transformer::first_layers(int64_t count, const torch::Tensor& given, const LayerPass& pass,
                                        const torch::Tensor& relative, const std::vector<LayerGates>& gates) const {
  static const LayerGates open;
  const auto of = [&](int64_t i) -> const LayerGates& { return gates.empty() ? open : gates.at(static_cast<size_t>(i)); };
  const bool fused = (kept_ || !at::GradMode::is_enabled()) && fused_->serves(given, pass);
  torch::Tensor x = given;
  for (int64_t i = 0; i < count;) {
    if (of(i).closed || !fused || !fused_->fits(i, of(i))) {
      x = layer(i, x, pass, relative, false, of(i));
      ++i;
      continue;
    }
    int64_t end = i + 1;  // as many at once as nothing has to be done between
    while (end < count && !of(i).layer.defined() && !of(end).layer.defined() && !of(end).closed && fused_->fits(end, of(end)))
      ++end;
    x = blended(x, fused_->forward(x, pass, i, end, gates), of(i).layer);
    i = end;
  }
  return x;
}

void Transformer::narrow(const std::vector<LayerGates>& gates) {
  std::vector<std::shared_ptr<TransformerLayer>> left;
  std::vector<LayerShape> shapes;
  for (size_t i = 0; i < layers.size(); ++i) {
    unregister_module(fmt::format("layer{}", i));
    if (gates.at(i).closed) continue;
    layers[i]->narrow(gates[i]);
    const LayerWeights weights = layers[i]->weights();
    shapes.push_back({weights.heads(config_.head_width()), weights.neurons()});
    left.push_back(layers[i]);
  }
  layers = std::move(left);
  for (size_t i = 0; i < layers.size(); ++i) register_module(fmt::format("layer{}", i), layers[i]);
  config_.layers = std::ssize(layers);
  const LayerShape whole{config_.heads, config_.intermediate};
  const bool alike = std::all_of(shapes.begin(), shapes.end(), [&](const LayerShape& shape) { return shape == whole; });
  config_.narrowed = alike ? std::vector<LayerShape>{} : shapes;
  fused_ = std::make_unique<FusedLayers>(config_, layers);
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
