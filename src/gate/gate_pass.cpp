#include "l0gm/gate_pass.h"

#include <ATen/Functions.h>

#include "base/random.h"
#include "gate/counter_dropout.h"
#include "gate/noise.h"
#include "gate/step_numbers.h"

namespace l0gm {

namespace {

// Gate noise and dropout use different random numbers.
constexpr int64_t dropout_sites = int64_t{1} << 32;

int64_t site_number(const std::string& name) {
  uint64_t number = 0;
  for (const char c : name) number = mix_key(number, static_cast<unsigned char>(c));
  return static_cast<int64_t>(number >> 33);  // below dropout_sites
}

}  // namespace

torch::Tensor GateSite::from_outer(const torch::Tensor& values) const {
  return values.index_select(0, outer_unit.to(values.device()));
}

GatePass::GatePass(GateState state, uint64_t seed, int64_t step, torch::Tensor example_ids, StepNumbers* live)
    : state_(state), seed_(seed), step_(step), example_ids_(std::move(example_ids)), live_(live) {}

Draw GatePass::draw_at(int64_t site, const torch::Tensor& ids) const {
  Draw draw{seed_, step_, site, ids.defined() ? ids : example_ids_, nullptr, {}};
  if (live_ != nullptr) draw.live_key = live_->key(site), draw.live_tau = live_->at(StepNumber::tau);
  return draw;
}

torch::Tensor GatePass::apply(const GateSite& site, const torch::Tensor& r, const torch::Tensor& index,
                              const torch::Tensor& ids) {
  const Draw draw = draw_at(site_number(site.name), ids);
  HardConcrete gate = site.gate;
  torch::Tensor input = r, probe;
  if (probing) {
    probe = (index.defined() ? at::ones_like(r) : at::ones({r.size(-1)}, r.options())).detach().requires_grad_(true);
    input = r * probe;
  }
  const torch::Tensor& units = index.defined() ? index : site.index;
  Gated gated = gate->forward(input, state_, draw, units, site.gates_are_read);
  torch::Tensor value = gated.value;
  records_.push_back({&site, std::move(gated), r.detach(), probe, units});
  return value;
}

torch::Tensor GatePass::factors(const GateSite& site, const std::function<torch::Tensor()>& sizes) {
  HardConcrete gate = site.gate;
  const GateOptions& options = gate->options();
  const bool by_size = options.logits == LogitKind::fixed && options.static_by == StaticBy::magnitude;
  const torch::Tensor value = apply(site, at::ones({1, gate->units()}, gate->logits().options().requires_grad(false)));
  if (by_size && state_.phase != Phase::harden) records_.back().representation = sizes().detach().unsqueeze(0);
  return state_.phase == Phase::warmup && !probing ? torch::Tensor() : value.reshape({gate->units()});
}

const GatePass::Record* GatePass::record(const GateSite& site) const {
  for (const Record& record : records_) {
    if (record.site == &site) return &record;
  }
  return nullptr;
}

const GatePass::Record* GatePass::interface_record() const {
  for (const Record& record : records_) {
    if (record.site->at_interface) return &record;
  }
  return nullptr;
}

torch::Tensor GatePass::dropout(const torch::Tensor& x, double share, int64_t place, const torch::Tensor& ids) const {
  if (share <= 0) return x;
  return counter_dropout(x, share, draw_at(dropout_sites + place, ids));
}

NoiseKey GatePass::dropout_key(int64_t place) const { return key_of(draw_at(dropout_sites + place, {})); }

torch::Tensor GatePass::expected_cost() const {
  torch::Tensor total;
  for (const Record& record : records_) {
    torch::Tensor expected = record.gated.expected_open;
    if (const Record* outer = record.site->outer != nullptr ? this->record(*record.site->outer) : nullptr) {
      const torch::Tensor both = record.gated.open_probability * record.site->from_outer(outer->gated.open_probability);
      expected = at::dot(both, record.site->gate->cost());
    }
    total = total.defined() ? total + expected : expected;
  }
  return total;
}

torch::Tensor GatePass::cost_fraction() const {
  double total = 0;
  for (const Record& record : records_) total += record.site->gate->cost().sum().item<double>();
  const torch::Tensor expected = expected_cost();
  return expected.defined() ? expected / total : expected;
}

}  // namespace l0gm
