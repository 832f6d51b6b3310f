#include "encoders/text/text_encoder.h"

#include <ATen/Functions.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>

#include "l0gm/error.h"

namespace l0gm {

namespace {

// Where blocks of positions begin, for fine units.
constexpr auto& block_starts = token_block_starts;

std::string positions_of_block(int64_t block) {
  const auto next = static_cast<size_t>(block) + 1;
  const int64_t begin = block_starts.at(static_cast<size_t>(block));
  return next < block_starts.size() ? fmt::format("positions {}-{}", begin, block_starts[next] - 1)
                                    : fmt::format("positions {} and beyond", begin);
}

InterfaceUnits blocks_of_dimensions(int64_t width, int64_t blocks) {
  const int64_t count = std::min(width, blocks);
  const torch::Tensor index = at::arange(width, torch::kInt64).mul(count).div(width, "floor");
  return {at::bincount(index, {}, count).to(torch::kFloat32), index, [](int64_t unit) { return fmt::format("block {}", unit); }};
}

}  // namespace

TextEncoder::TextEncoder(std::shared_ptr<Transformer> transformer, const EncoderOptions& options)
    : transformer_(std::move(transformer)),
      pooling_(options.pooling),
      blocks_(options.blocks),
      layer_decay_(options.layer_decay) {
  register_module("transformer", transformer_);
  if (options.frozen) {
    feature_mean_ = register_buffer("feature_mean", at::zeros({width()}));
    feature_factor_ = register_buffer("feature_factor", at::ones({width()}));
  }
  transformer_->keep_layers_for_gradient(!options.checkpoint_activations);
}

// The cost of fine units: those of one dimension, over all blocks and at the interface, sum to 1.
constexpr double fine_cost = 1.0 / (static_cast<double>(block_starts.size()) + 1);

InterfaceUnits TextEncoder::units(UnitKind kind, Attach) const {
  const double each = structure_ != nullptr ? structure_->cost_of_dimension() : 1;
  if (kind == UnitKind::group) {
    InterfaceUnits blocks = blocks_of_dimensions(width(), blocks_);
    if (structure_ != nullptr) blocks.cost = blocks.cost * each;
    return blocks;
  }
  return {at::full({width()}, kind == UnitKind::fine ? fine_cost : each), {}, [](int64_t unit) {
            return fmt::format("dimension {}", unit);
          }};
}

namespace {

void require_gates_on_structure(const GateOptions& options) {
  const std::string where = options.attach.names();
  if (options.unit == UnitKind::fine)
    throw UserError(fmt::format("gate.attach = {} goes with gate.unit = dimension or group; found fine", where));
  if (options.logits == LogitKind::instance) {
    throw UserError(
        fmt::format("gate.attach = {} goes with gate.logits = global or static: a part that some texts need cannot be left out",
                    where));
  }
  if (options.attach.has(Attach::layers) && options.test_rule != TestRule::threshold) {
    throw UserError(
        fmt::format("gate.attach = {} goes with gate.test_rule = threshold: a layer is computed or it is not; found {}", where,
                    name_of_enum(options.test_rule)));
  }
}

}  // namespace

void TextEncoder::narrow_structure(const GateState& state, bool same_shape) {
  if (structure_ == nullptr) return;
  std::vector<LayerGates> gates = structure_->fixed(state, same_shape);
  for (LayerGates& of_layer : gates) {  // computed or not, a closed layer can go
    of_layer.closed = of_layer.closed || of_layer.layer.defined();
    of_layer.layer = torch::Tensor();
  }
  transformer_->narrow(gates);
  structure_ = nullptr;
}

std::vector<std::shared_ptr<GateSite>> TextEncoder::make_sites(const GateOptions& options) {
  if (options.attach == Attach::input) {
    throw UserError(
        "gate.attach = input needs inputs that are columns or attributes, and a text's are tokens; for texts the gate sits at "
        "the "
        "interface");
  }
  if (options.on_structure()) {
    require_gates_on_structure(options);
    if (!part_costs_) throw std::logic_error("TextEncoder: gates on the structure need part costs");
    structure_ = std::make_unique<StructureGates>(config(), options, *part_costs_, gated_at_interface(options) ? width() : 0);
    return structure_->sites();
  }
  if (options.unit != UnitKind::fine) return {};
  const int64_t dimensions = width();
  token_site_ = std::make_shared<GateSite>();
  token_site_->name = "tokens";
  token_site_->gate =
      HardConcrete(options, at::full({static_cast<int64_t>(block_starts.size()) * dimensions}, fine_cost), dimensions);
  token_site_->unit_name = [dimensions](int64_t unit) {
    return fmt::format("{} dimension {}", positions_of_block(unit / dimensions), unit % dimensions);
  };
  return {token_site_};
}

std::map<std::string, torch::Tensor> TextEncoder::learned_buffers() const {
  std::map<std::string, torch::Tensor> buffers;
  if (feature_mean_.defined()) buffers = {{"feature_mean", feature_mean_}, {"feature_factor", feature_factor_}};
  if (token_factors_.defined()) buffers["token_factors"] = token_factors_;
  return buffers;
}

void TextEncoder::fix_token_gates(const torch::Tensor& factors) {
  token_factors_ = register_buffer("token_factors", factors.detach().reshape({token_blocks, width()}).clone());
  token_site_ = nullptr;
}

torch::Tensor TextEncoder::gated_tokens(const torch::Tensor& states, const TextBatch& batch, GatePass& pass) const {
  torch::Tensor block = at::zeros_like(batch.positions);
  for (size_t b = 1; b < block_starts.size(); ++b) block += batch.positions.ge(block_starts[b]);
  if (token_factors_.defined()) return states * token_factors_.index_select(0, block);
  const torch::Tensor index = block.mul_(width()).unsqueeze(1) + at::arange(width(), block.options());
  return pass.apply(*token_site_, states, index, batch.token_ids());
}

void TextEncoder::scale_interface(const torch::Tensor& mean, const torch::Tensor& factor) {
  torch::NoGradGuard no_grad;
  feature_mean_.copy_(mean);
  feature_factor_.copy_(factor);
}

torch::Tensor TextEncoder::scaled(const torch::Tensor& features) const {
  return feature_mean_.defined() ? (features - feature_mean_) * feature_factor_ : features;
}

std::map<std::string, double> TextEncoder::rate_of_parameters() const {
  std::map<std::string, double> rates;
  if (layer_decay_ >= 1) return rates;
  const auto top = static_cast<double>(config().layers);
  for (const auto& [name, depth] : depth_of_parameters()) rates[name] = std::pow(layer_decay_, top - static_cast<double>(depth));
  return rates;
}

torch::Tensor TextEncoder::forward(const Batch& base, GatePass& pass) {
  const auto& batch = dynamic_cast<const TextBatch&>(base);
  if (batch.features.defined()) return batch.features;
  const torch::Tensor interface = scaled(unscaled(batch, pass));
  if (is_training() && batch.teacher_states.defined())
    pass.add_loss((interface - batch.teacher_states.to(interface.scalar_type())).square().mean() * batch.teacher_weight);
  return interface;
}

torch::Tensor TextEncoder::unscaled(const TextBatch& batch, GatePass& pass) {
  const TransformerConfig& config = transformer_->config();
  if (batch.texts.longest > config.longest_text()) {
    throw UserError(fmt::format("a text has {} tokens, and the encoder has positions for {}: lower encoder.max_tokens",
                                batch.texts.longest, config.longest_text()));
  }
  const LayerPass layer_pass{batch, pass, is_training() ? batch.token_ids() : torch::Tensor(),
                             compute_.value_or(transformer_->embeddings->words.scalar_type())};
  const torch::Tensor relative = transformer_->relative(layer_pass);
  const bool gated = token_site_ != nullptr || token_factors_.defined(), last_differs = gated || pooling_ == Pooling::cls;
  const int64_t last = config.layers - 1;
  const std::vector<LayerGates> gates =
      structure_ != nullptr ? structure_->of_layers(pass, *transformer_, closed_are_computed_) : std::vector<LayerGates>();
  torch::Tensor x = transformer_->first_layers(last_differs ? last : config.layers, transformer_->embed(layer_pass), layer_pass,
                                               relative, gates);
  if (gated) x = gated_tokens(x, batch, pass);
  if (last_differs) {
    x = transformer_->layer(last, x, layer_pass, relative, pooling_ == Pooling::cls,
                            gates.empty() ? LayerGates{} : gates[static_cast<size_t>(last)]);
  }
  return pooled(x, batch);
}

torch::Tensor TextEncoder::pooled(const torch::Tensor& states, const TextBatch& batch) const {
  if (pooling_ == Pooling::cls) return states;  // the last layer computed nothing else
  return at::segment_reduce(states, "mean", {}, {}, batch.texts.offsets.to(torch::kInt64), 0, /*unsafe=*/true);
}

std::vector<int64_t> TextEncoder::parameters_of_dimension() const {
  return std::vector<int64_t>(static_cast<size_t>(width()), 0);  // the norm before the interface reads all
}

int64_t TextEncoder::shared_parameters() const {
  int64_t count = 0;
  for (const torch::Tensor& parameter : transformer_->parameters()) count += parameter.numel();
  return count;
}

std::map<std::string, int64_t> TextEncoder::depth_of_parameters() const {
  std::map<std::string, int64_t> depths;
  for (const auto& item : transformer_->named_parameters()) depths["transformer." + item.key()] = 0;
  for (size_t i = 0; i < transformer_->layers.size(); ++i) {
    for (const auto& item : transformer_->layers[i]->named_parameters())
      depths[fmt::format("transformer.layer{}.{}", i, item.key())] = static_cast<int64_t>(i) + 1;
  }
  return depths;
}

torch::Tensor TextEncoder::word_vectors(const torch::Tensor& tokens) const {
  torch::NoGradGuard no_grad;
  return at::embedding(transformer_->embeddings->words, tokens);
}

}  // namespace l0gm
