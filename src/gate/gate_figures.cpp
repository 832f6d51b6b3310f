#include "gate/gate_figures.h"

#include <ATen/Functions.h>

#include <cmath>

#include "gate/tensor_values.h"

namespace l0gm {

torch::Tensor open_units(const GateSite& site, const GateState& state) {
  const torch::Tensor open = site.gate->ever_open(state);
  return site.outer == nullptr ? open : open & site.from_outer(site.outer->gate->ever_open(state));
}

GateFigures gate_figures(const std::vector<const GateSite*>& sites, const GateState& state, const GatePass* examples) {
  torch::NoGradGuard no_grad;
  GateFigures figures;
  double open = 0, cost = 0, open_cost = 0, expected = 0, undecided = 0;
  for (size_t i = 0; i < sites.size(); ++i) {
    const HardConcreteImpl& gate = *sites[i]->gate;
    torch::Tensor share = gate.test_values(state).gt(0).to(torch::kFloat64);  // of examples for which each unit is open
    torch::Tensor probability = gate.open_probability(state.tau).to(torch::kFloat64);
    const GatePass::Record* record = examples != nullptr ? examples->record(*sites[i]) : nullptr;
    if (gate.has_instance_logits() && record != nullptr && state.phase != Phase::warmup) {
      const Gated& gated = record->gated;
      share = gated.logits.gt(gate.open_logit(state.tau)).to(torch::kFloat64).mean(0);
      probability = gated.open_probability.to(torch::kFloat64).mean(0);
    }
    if (sites[i]->outer != nullptr) share = share * sites[i]->from_outer(sites[i]->outer->gate->test_values(state).gt(0));
    const torch::Tensor price = gate.cost().to(torch::kFloat64);
    if (sites[i]->cost_besides) figures.whole_cost_dense = figures.whole_cost_dense.value_or(0) + *sites[i]->cost_besides;
    figures.units += gate.units();
    figures.ever_open_units += open_units(*sites[i], state).sum().item<int64_t>();
    open += share.sum().item<double>();
    cost += price.sum().item<double>();
    open_cost += sites[i]->shared != nullptr ? sites[i]->shared->of(to_doubles(share)) : at::dot(share, price).item<double>();
    expected += probability.sum().item<double>();
    undecided += (probability.gt(0.1) & probability.lt(0.9)).sum().item<double>();
  }
  if (figures.units == 0) return figures;
  const auto units = static_cast<double>(figures.units);
  if (figures.whole_cost_dense) {
    figures.whole_cost = *figures.whole_cost_dense + open_cost;
    *figures.whole_cost_dense += cost;
  }
  figures.open_units = std::llround(open);
  figures.active_fraction = open / units;
  figures.active_cost_fraction = open_cost / cost;
  figures.expected_active_fraction = expected / units;
  figures.undecided_fraction = undecided / units;
  return figures;
}

}  // namespace l0gm
