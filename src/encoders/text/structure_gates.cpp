#include "encoders/text/structure_gates.h"

#include <ATen/Functions.h>
#include <c10/core/InferenceMode.h>
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "gate/tensor_values.h"

namespace l0gm {

namespace {

double sum_of(const std::vector<double>& values) { return std::accumulate(values.begin(), values.end(), 0.0); }

std::vector<double> part(const std::vector<double>& values, int64_t layer, int64_t each) {
  const auto begin = values.begin() + layer * each;
  return {begin, begin + each};
}

// Which units of a layer are kept, and their factors where they are not all 1. `step`: kernels want a multiple of these units; it
// is filled up with closed ones, whose factor is 0.
struct Kept {
  torch::Tensor index, factors;
  Kept(const std::vector<double>& values, int64_t step, bool computed, const torch::TensorOptions& real) {
    const auto units = std::ssize(values);
    std::vector<int64_t> kept;
    for (int64_t u = 0; u < units; ++u) {
      if (values[static_cast<size_t>(u)] > 0 || computed) kept.push_back(u);
    }
    for (int64_t u = 0; u < units && !kept.empty() && std::ssize(kept) % step != 0; ++u) {
      if (values[static_cast<size_t>(u)] <= 0) kept.push_back(u);
    }
    std::sort(kept.begin(), kept.end());
    std::vector<double> of_kept;
    for (const int64_t u : kept) of_kept.push_back(values[static_cast<size_t>(u)]);
    if (std::ssize(kept) < units) index = at::tensor(kept, torch::kInt64).to(real.device());
    if (std::any_of(of_kept.begin(), of_kept.end(), [](double value) { return value != 1; }))
      factors = at::tensor(of_kept, torch::kFloat64).to(real);
  }
};

// The size of what a unit multiplies: of its weights, all in all.
torch::Tensor sizes_of_layers(const Transformer& transformer) {
  std::vector<torch::Tensor> sizes;
  for (const auto& layer : transformer.layers) {
    const LayerWeights w = layer->weights();
    sizes.push_back((w.qkv.square().sum() + w.out.square().sum() + w.wide.square().sum() + w.narrow.square().sum()).sqrt());
  }
  return at::stack(sizes);
}

torch::Tensor sizes_of_heads(const Transformer& transformer) {
  std::vector<torch::Tensor> sizes;
  for (const auto& layer : transformer.layers) {
    const LayerWeights w = layer->weights();
    const int64_t heads = w.heads(layer->head_width());
    const torch::Tensor in = w.qkv.square().sum(1).view({3, heads, -1}).sum(torch::IntArrayRef{0, 2});
    sizes.push_back((in + w.out.square().sum(0).view({heads, -1}).sum(1)).sqrt());
  }
  return at::cat(sizes);
}

torch::Tensor sizes_of_neurons(const Transformer& transformer) {
  std::vector<torch::Tensor> sizes;
  for (const auto& layer : transformer.layers) {
    const LayerWeights w = layer->weights();
    sizes.push_back((w.wide.square().sum(1) + w.narrow.square().sum(0)).sqrt());
  }
  return at::cat(sizes);
}

std::string name_of_unit(Attach attach, int64_t unit, int64_t each) {
  if (attach == Attach::layers) return fmt::format("layer {}", unit);
  return fmt::format("layer {} {} {}", unit / each, attach == Attach::heads ? "head" : "neuron", unit % each);
}

}  // namespace

StructureGates::StructureGates(const TransformerConfig& config, const GateOptions& options, const PartCosts& costs,
                               int64_t interface_units)
    : config_(config), costs_(costs) {
  const bool gate_heads = options.attach.has(Attach::heads), gate_neurons = options.attach.has(Attach::ffn),
             gate_layers = options.attach.has(Attach::layers);
  std::vector<double> of_layers, of_heads, of_neurons;
  double besides = costs.besides + (interface_units > 0 ? 0 : costs.dimension * static_cast<double>(config.hidden));
  for (int64_t i = 0; i < config.layers; ++i) {
    const PartCosts::Layer& layer = costs.of(i, config.layers);
    double rest = layer.rest;  // what closing the layer saves beside gated heads and neurons
    if (gate_heads) of_heads.insert(of_heads.end(), static_cast<size_t>(config.heads), layer.head);
    if (gate_neurons) of_neurons.insert(of_neurons.end(), static_cast<size_t>(config.intermediate), layer.neuron);
    const bool each_one = options.cost == UnitCost::unit;
    if (!gate_heads && !each_one) rest += layer.head * static_cast<double>(config.heads);
    if (!gate_neurons && !each_one) rest += layer.neuron * static_cast<double>(config.intermediate);
    if (gate_layers) {
      of_layers.push_back(rest);
    } else {
      besides += rest;
    }
  }
  const auto dimensions = static_cast<double>(interface_units);
  const double all = sum_of(of_layers) + sum_of(of_heads) + sum_of(of_neurons) + dimensions * costs.dimension;
  const auto units = static_cast<double>(of_layers.size() + of_heads.size() + of_neurons.size()) + dimensions;
  scale_ = units / all;
  if (gate_layers) layers_ = site(Attach::layers, options, of_layers);
  if (gate_heads) heads_ = site(Attach::heads, options, of_heads);
  if (gate_neurons) neurons_ = site(Attach::ffn, options, of_neurons);
  sites()[0]->cost_besides = besides * scale_;
}

std::shared_ptr<GateSite> StructureGates::site(Attach attach, const GateOptions& options,
                                               const std::vector<double>& costs) const {
  GateOptions own = options;
  own.noise = Noise::batch;
  auto made = std::make_shared<GateSite>();
  const int64_t each = attach == Attach::heads ? config_.heads : attach == Attach::ffn ? config_.intermediate : 1;
  made->name = name_of_enum(attach);
  made->noun = attach == Attach::ffn ? "neurons" : made->name;
  made->gate = HardConcrete(own, at::tensor(costs, torch::kFloat64).mul(scale_).to(torch::kFloat32));
  made->unit_name = [attach, each](int64_t unit) { return name_of_unit(attach, unit, each); };
  if (attach != Attach::layers && layers_ != nullptr) {
    made->outer = layers_.get();
    made->outer_unit = at::arange(config_.layers, torch::kInt64).repeat_interleave(each);
  }
  return made;
}

std::vector<std::shared_ptr<GateSite>> StructureGates::sites() const {
  std::vector<std::shared_ptr<GateSite>> all;
  for (const auto& site : {layers_, heads_, neurons_}) {
    if (site != nullptr) all.push_back(site);
  }
  return all;
}

std::vector<LayerGates> StructureGates::of_layers(GatePass& pass, const Transformer& transformer, bool computed) const {
  const auto factors = [&](const std::shared_ptr<GateSite>& site, torch::Tensor (*sizes)(const Transformer&)) {
    return site != nullptr ? pass.factors(*site, [&] { return sizes(transformer); }) : torch::Tensor();
  };
  const torch::Tensor layers = factors(layers_, sizes_of_layers), heads = factors(heads_, sizes_of_heads),
                      neurons = factors(neurons_, sizes_of_neurons);
  const HardConcreteImpl& gate = *sites()[0]->gate;
  const Phase phase = pass.state().phase;
  if (phase == Phase::warmup && !pass.probing) return {};
  const bool decided = phase == Phase::harden || !gate.is_training() || gate.options().logits == LogitKind::fixed;
  if (!decided || pass.probing) return sampled(layers, heads, neurons);
  const auto on_host = [](const torch::Tensor& of) { return of.defined() ? to_doubles(of) : std::vector<double>(); };
  return fixed({on_host(layers), on_host(heads), on_host(neurons)}, computed);
}

std::vector<LayerGates> StructureGates::sampled(const torch::Tensor& layers, const torch::Tensor& heads,
                                                const torch::Tensor& neurons) const {
  std::vector<LayerGates> result(static_cast<size_t>(config_.layers));
  for (int64_t i = 0; i < config_.layers; ++i) {
    LayerGates& gates = result[static_cast<size_t>(i)];
    if (layers.defined()) gates.layer = layers[i];
    if (heads.defined()) gates.heads = heads.narrow(0, i * config_.heads, config_.heads);
    if (neurons.defined()) gates.neurons = neurons.narrow(0, i * config_.intermediate, config_.intermediate);
  }
  return result;
}

StructureGates::Values StructureGates::values(const GateState& state) const {
  const auto of = [&](const std::shared_ptr<GateSite>& site) {
    return site != nullptr ? to_doubles(site->gate->test_values(state)) : std::vector<double>();
  };
  return {of(layers_), of(heads_), of(neurons_)};
}

std::vector<LayerGates> StructureGates::fixed(const GateState& state, bool computed) const {
  return fixed(values(state), computed);
}

std::vector<LayerGates> StructureGates::fixed(const Values& values, bool computed) const {
  const torch::Tensor& like = sites()[0]->gate->logits();
  if (!made_.gates.empty() && made_.values == values && made_.computed == computed && made_.device == like.device() &&
      made_.type == like.scalar_type()) {
    return made_.gates;
  }
  const c10::InferenceMode ordinary(false);  // passes with gradient use them, too
  std::vector<LayerGates> result(static_cast<size_t>(config_.layers));
  const torch::TensorOptions real = like.options().requires_grad(false);
  for (int64_t i = 0; i < config_.layers; ++i) {
    LayerGates& gates = result[static_cast<size_t>(i)];
    if (const double z = values.layers.empty() ? 1 : values.layers[static_cast<size_t>(i)]; z != 1) {
      gates.closed = z <= 0 && !computed;
      if (!gates.closed) gates.layer = at::full({}, z, real);
    }
    if (gates.closed) continue;
    if (!values.heads.empty()) {
      const Kept kept(part(values.heads, i, config_.heads), 1, computed, real);
      gates.kept_heads = kept.index;
      gates.heads = kept.factors;
    }
    if (!values.neurons.empty()) {
      const Kept kept(part(values.neurons, i, config_.intermediate), FusedLayers::neuron_step, computed, real);
      gates.kept_neurons = kept.index;
      gates.neurons = kept.factors;
    }
  }
  made_ = {values, computed, like.device(), like.scalar_type(), result};
  return result;
}

StructureReport StructureGates::report(const GateState& state) const {
  const Values open = values(state);
  StructureReport report;
  report.layers_dense = config_.layers;
  report.heads_dense = config_.layers * config_.heads;
  report.neurons_dense = config_.layers * config_.intermediate;
  const auto count = [](const std::vector<double>& values) {
    return std::count_if(values.begin(), values.end(), [](double value) { return value > 0; });
  };
  for (int64_t i = 0; i < config_.layers; ++i) {
    if (!open.layers.empty() && open.layers[static_cast<size_t>(i)] <= 0) continue;
    ++report.layers;
    report.heads += open.heads.empty() ? config_.heads : count(part(open.heads, i, config_.heads));
    report.neurons += open.neurons.empty() ? config_.intermediate : count(part(open.neurons, i, config_.intermediate));
  }
  double whole = *sites()[0]->cost_besides, left = whole;
  for (const auto& site : sites()) {
    const torch::Tensor cost = site->gate->cost().to(torch::kFloat64);
    torch::Tensor is_open = site->gate->test_values(state).gt(0);
    if (site->outer != nullptr) is_open = is_open & site->from_outer(site->outer->gate->test_values(state).gt(0));
    whole += cost.sum().item<double>();
    left += (cost * is_open).sum().item<double>();
  }
  report.speedup = whole / left;
  return report;
}

}  // namespace l0gm
