#include "heads/hidden_gates.h"

#include <ATen/Functions.h>
#include <fmt/format.h>

#include "l0gm/error.h"

namespace l0gm {

std::vector<std::shared_ptr<GateSite>> HiddenGates::make(const GateOptions& options, int64_t layers, int64_t width) {
  if (!options.attach.has(Attach::hidden) || layers == 0) return {};
  if (options.unit != UnitKind::dimension || options.logits == LogitKind::instance) {
    throw UserError(
        fmt::format("gate.attach = {} goes with gate.unit = dimension and gate.logits = global or static; found {} and {}",
                    options.attach.names(), name_of_enum(options.unit), name_of_enum(options.logits)));
  }
  GateOptions own = options;
  own.noise = Noise::batch;
  for (int64_t layer = 0; layer < layers; ++layer) {
    auto site = std::make_shared<GateSite>();
    site->name = fmt::format("hidden{}", layer);
    site->gate = HardConcrete(own, at::ones({width}));
    site->unit_name = [layer](int64_t unit) { return fmt::format("neuron {} of layer {}", unit, layer); };
    site->noun = "neurons";
    sites_.push_back(site);
  }
  return sites_;
}

torch::Tensor HiddenGates::apply(size_t layer, const torch::Tensor& x, GatePass& pass) const {
  if (sites_.empty()) return x;
  const torch::Tensor factors = pass.factors(*sites_[layer], [&] { return x.detach().abs().flatten(0, -2).mean(0); });
  return factors.defined() ? x * factors : x;
}

HiddenGates::Open HiddenGates::open(size_t layer, int64_t width, const GateState& state) const {
  if (sites_.empty()) return {at::arange(width, torch::kInt64), at::ones({width}, torch::kFloat64)};
  const torch::Tensor values = sites_[layer]->gate->test_values(state).to(torch::kCPU, torch::kFloat64);
  const torch::Tensor kept = values.gt(0).nonzero().squeeze(1);
  return {kept, values.index_select(0, kept)};
}

}  // namespace l0gm
