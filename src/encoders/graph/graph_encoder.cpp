#include "encoders/graph/graph_encoder.h"

#include <ATen/Functions.h>
#include <fmt/format.h>

#include <algorithm>

#include "l0gm/error.h"

namespace l0gm {

namespace {

constexpr int64_t hidden_place = 100, attention_place = 200;  // keys of dropout: numbers that heads do not use

// Contiguous blocks of as equal width as possible.
InterfaceUnits blocks_of(int64_t width, int64_t blocks, const std::string& what) {
  const int64_t count = std::min(width, blocks);
  std::vector<int64_t> index(static_cast<size_t>(width));
  std::vector<double> cost(static_cast<size_t>(count), 0);
  for (int64_t d = 0; d < width; ++d) {
    index[static_cast<size_t>(d)] = d * count / width;
    cost[static_cast<size_t>(d * count / width)] += 1;
  }
  return {at::tensor(cost, torch::kFloat32), at::tensor(index, torch::kInt64),
          [what](int64_t unit) { return fmt::format("{} block {}", what, unit); }};
}

}  // namespace

GraphEncoder::GraphEncoder(GraphShape shape) : shape_(std::move(shape)) {
  for (size_t i = 0; i < shape_.widths.size(); ++i) {
    const int64_t inputs = i == 0 ? shape_.attributes : shape_.widths[i - 1], outputs = shape_.widths[i];
    const NarrowedOutputs left = shape_.narrowed.empty() ? NarrowedOutputs{} : shape_.narrowed.at(i);
    Layer layer;
    layer.convolution = register_module(fmt::format("convolution{}", i),
                                        make_convolution(shape_.kind, inputs, outputs, shape_.convolution, left));
    layer.norm = register_module(fmt::format("norm{}", i), std::make_shared<ChannelNorm>(shape_.norm_of(i), outputs));
    if (shape_.residual == Residual::linear)
      layer.residual = register_parameter(fmt::format("residual{}", i), glorot(inputs, outputs));
    layers_.push_back(layer);
  }
}

InterfaceUnits GraphEncoder::units(UnitKind kind, Attach) const {
  if (kind == UnitKind::group) return blocks_of(width(), shape_.blocks, "channel");
  const double cost = kind == UnitKind::fine ? 1.0 / static_cast<double>(layers_.size()) : 1.0;
  return {at::full({width()}, cost), {}, [](int64_t unit) { return fmt::format("channel {}", unit); }};
}

std::vector<std::shared_ptr<GateSite>> GraphEncoder::make_sites(const GateOptions& options) {
  const auto site = [&](const std::string& name, InterfaceUnits units, int64_t site_width) {
    auto made = std::make_shared<GateSite>();
    made->name = name;
    made->gate = HardConcrete(options, units.cost_under(options), site_width);
    made->index = units.index;
    made->unit_name = units.unit_name;
    made->noun = units.noun;
    made->gates_are_read = false;
    return made;
  };
  if (options.attach == Attach::input) {
    if (options.unit == UnitKind::fine || options.logits == LogitKind::instance) {
      throw UserError(
          "gate.attach = input gates the attributes of all nodes alike: gate.unit is dimension or group, gate.logits global or "
          "static");
    }
    const bool groups = options.unit == UnitKind::group;
    InterfaceUnits units =
        groups ? blocks_of(shape_.attributes, shape_.blocks, "attribute")
               : InterfaceUnits{at::ones({shape_.attributes}), {}, [names = shape_.attribute_names](int64_t unit) {
                                  return names.at(static_cast<size_t>(unit));
                                }};
    if (units.index.defined()) units.index = unit_of_attribute_ = register_buffer("unit_of_attribute", units.index);
    input_site_ = site("input", units, shape_.attributes);
    const bool sized = static_cast<int64_t>(shape_.attribute_sizes.size()) == shape_.attributes;
    attribute_sizes_ = register_buffer(
        "attribute_sizes",
        (sized ? at::tensor(shape_.attribute_sizes).clamp_min(1e-6) : at::ones({shape_.attributes})).unsqueeze(0));
    shared_input_gate_ = options.noise == Noise::batch;
    return {input_site_};
  }
  if (options.unit != UnitKind::fine) return {};
  for (size_t i = 0; i + 1 < layers_.size(); ++i) {
    const double cost = 1.0 / static_cast<double>(layers_.size());
    const auto name = [i](int64_t unit) { return fmt::format("layer {} channel {}", i + 1, unit); };
    layer_sites_.push_back(site(fmt::format("layer{}", i + 1), {at::full({shape_.widths[i]}, cost), {}, name}, shape_.widths[i]));
  }
  return layer_sites_;
}

LayerRows GraphEncoder::input(const GraphBatch& batch, GatePass& pass) {
  LayerRows x{batch.attributes, {}, batch.propagated, {}};
  if (input_site_ == nullptr) return x;
  if (shared_input_gate_ || !is_training()) {
    // One row with the mean size of each attribute; its gated value over the size is the factor. One row: one draw for all nodes.
    const torch::Tensor left = pass.apply(*input_site_, attribute_sizes_, {}, at::zeros({1}, batch.input_ids.options()));
    // Evaluation uses the gates themselves: sizes, which a loaded run does not have, must not change them by rounding.
    const torch::Tensor& gates = pass.record(*input_site_)->gated.gates;
    x.factor =
        is_training() || !gates.defined() ? (left / attribute_sizes_).squeeze(0) : gates.reshape({-1}).to(left.scalar_type());
    return x;
  }
  if (!x.rows.dense.defined()) {
    throw UserError(
        "gate.attach = input with gate.noise = example draws for every node and attribute, and these attributes are stored "
        "sparse: set gate.noise = batch");
  }
  x.rows.dense = pass.apply(*input_site_, x.rows.dense, {}, batch.input_ids);
  x.propagated = torch::Tensor();
  return x;
}

torch::Tensor GraphEncoder::convolve(size_t index, const std::shared_ptr<const Adjacency>& block, const LayerRows& given,
                                     GatePass& pass) {
  const Layer& layer = layers_[index];
  LayerRows x = given;
  x.products = shape_.convolution.products;
  const torch::Tensor y = layer.convolution->forward(block, x, pass, attention_place + static_cast<int64_t>(index));
  if (!layer.residual.defined()) return y;
  return block ? x.times_at_targets(layer.residual, *block, y) : y + x.times(layer.residual);
}

torch::Tensor GraphEncoder::messages_of(size_t index, const LayerRows& given) const {
  LayerRows x = given;
  x.products = shape_.convolution.products;
  return layers_[index].convolution->messages_of(x);
}

torch::Tensor GraphEncoder::finish(size_t index, const torch::Tensor& convolved, const torch::Tensor& ids, GatePass& pass) {
  ChannelNorm& norm = *layers_[index].norm;
  if (index + 1 == layers_.size()) return norm.forward_relu(convolved);
  const int64_t place = hidden_place + static_cast<int64_t>(index);
  const bool drops = (is_training() || collecting_) && shape_.dropout > 0;
  if (layer_sites_.empty()) {
    return norm.forward_relu(convolved, drops ? RowDropout{shape_.dropout, pass.dropout_key(place), ids} : RowDropout{});
  }
  const torch::Tensor y = pass.apply(*layer_sites_[index], norm.forward_relu(convolved), {}, ids);
  return drops ? pass.dropout(y, shape_.dropout, place, ids) : y;
}

torch::Tensor GraphEncoder::forward(const Batch& base, GatePass& pass) {
  const auto& batch = dynamic_cast<const GraphBatch&>(base);
  LayerRows x = input(batch, pass);
  for (size_t i = 0; i < layers_.size(); ++i) {
    const bool passes = shape_.kind != ConvolutionKind::linear;
    const torch::Tensor y =
        finish(i, convolve(i, passes ? batch.blocks[i] : nullptr, x, pass), passes ? batch.output_ids[i] : batch.input_ids, pass);
    x = LayerRows{{y, nullptr}, {}, {}, {}};
  }
  return batch.examples.defined() ? x.rows.dense.index_select(0, batch.examples) : x.rows.dense;
}

torch::Tensor GraphEncoder::propagate_ahead(const GraphBatch& batch) const {
  if (shape_.kind == ConvolutionKind::linear || (input_site_ != nullptr && !shared_input_gate_)) return {};
  torch::NoGradGuard no_grad;
  return layers_[0].convolution->aggregate_ahead(batch.blocks[0], LayerRows{batch.attributes, {}, {}, {}});
}

bool GraphEncoder::collect_statistics(bool on) {
  bool any = false;
  collecting_ = on;
  for (const Layer& layer : layers_) {
    layer.norm->collect(on);
    any = any || layer.norm->collects();
  }
  return any;
}

int64_t GraphEncoder::layer_parameters(const Layer& layer) const {
  int64_t count = layer.residual.defined() ? layer.residual.numel() : 0;
  for (const torch::Tensor& parameter : layer.convolution->parameters()) count += parameter.numel();
  return count + layer.convolution->outputs() * layer.norm->parameters_per_channel();
}

std::vector<int64_t> GraphEncoder::parameters_of_dimension() const {
  const Layer& last = layers_.back();
  const bool separable = last.norm->per_channel();
  const int64_t each = last.convolution->parameters_per_output() + last.norm->parameters_per_channel() +
                       (last.residual.defined() ? last.residual.size(0) : 0);
  return std::vector<int64_t>(static_cast<size_t>(width()), separable ? each : 0);
}

int64_t GraphEncoder::shared_parameters() const {
  int64_t count = 0;
  for (const Layer& layer : layers_) count += layer_parameters(layer);
  for (const int64_t of_dimension : parameters_of_dimension()) count -= of_dimension;
  return count;
}

void GraphEncoder::narrow_layer(size_t index, const torch::Tensor& kept) {
  Layer& layer = layers_[index];
  layer.convolution->narrow_outputs(kept);
  layer.norm->narrow(kept);
  if (layer.residual.defined()) keep_part(layer.residual, 1, kept);
  shape_.widths[index] = kept.size(0);
  shape_.narrowed.resize(layers_.size());
  shape_.narrowed[index] = layer.convolution->narrowed();
}

bool GraphEncoder::narrow(const torch::Tensor& kept) {
  if (!layers_.back().norm->per_channel()) return false;
  narrow_layer(layers_.size() - 1, kept);
  return true;
}

void GraphEncoder::narrow_hidden(const GateState& state) {
  torch::NoGradGuard no_grad;
  for (size_t i = 0; i < layer_sites_.size(); ++i) {
    torch::Tensor values = layer_sites_[i]->gate->test_values(state);
    torch::Tensor kept = values.gt(0).nonzero().squeeze(1);
    if (layers_[i].norm->per_channel()) {
      narrow_layer(i, kept);
      values = values.index_select(0, kept);
    } else {  // the norm reads all channels: the next layer multiplies the closed ones by 0
      kept = at::arange(values.size(0), kept.options());
    }
    Layer& next = layers_[i + 1];
    next.convolution->narrow_inputs(kept, values);
    if (next.residual.defined()) keep_inputs(next.residual, kept, values);
  }
  layer_sites_.clear();
}

void GraphEncoder::narrow_inputs(const torch::Tensor& kept, const torch::Tensor& values) {
  torch::NoGradGuard no_grad;
  Layer& first = layers_.front();
  first.convolution->narrow_inputs(kept, values);
  if (first.residual.defined()) keep_inputs(first.residual, kept, values);
  const torch::Tensor on_host = kept.cpu();
  std::vector<std::string> names;
  for (int64_t i = 0; i < on_host.size(0); ++i)
    names.push_back(shape_.attribute_names.at(static_cast<size_t>(on_host[i].item<int64_t>())));
  shape_.attribute_names = std::move(names);
  shape_.attributes = kept.size(0);
  input_site_ = nullptr;
}

}  // namespace l0gm
