#include "l0gm/hard_concrete.h"

#include <ATen/Functions.h>
#include <fmt/format.h>

#include <cmath>

#include "gate/gate_sampling.h"
#include "gate/noise.h"
#include "l0gm/error.h"

namespace l0gm {

namespace {

// How far force() moves a logit past the threshold: enough to survive rounding, little enough to change the order of logits
// little.
constexpr double force_margin = 0.05;
// Noise that all examples of a step share is drawn for this id.
constexpr int64_t batch_id = -1;
constexpr double range_start = 0.5413;  // softplus of it is 1: an example may move its logits by at most 1 at first

double logit(double p) { return std::log(p) - std::log1p(-p); }

}  // namespace

HardConcreteImpl::HardConcreteImpl(const GateOptions& options, torch::Tensor cost, int64_t width) : options_(options) {
  const int64_t units = cost.size(0);
  if (units == 0) throw UserError("a gate needs at least one unit");
  cost_ = register_buffer("cost", std::move(cost));
  const torch::Tensor start = at::randn({units}, torch::kFloat32).mul_(0.01).add_(logit(options.init_open));
  logits_ = register_parameter("logits", start.to(cost_.scalar_type()));
  if (has_instance_logits()) {
    if (options.unit == UnitKind::fine)
      throw UserError("gate.logits = instance needs gate.unit = dimension or group; found fine");
    width = width > 0 ? width : units;
    const int64_t rank = options.map_rank;
    const auto real = cost_.options();
    range_ = register_parameter("range", at::full({units}, range_start, real));
    if (rank > 0) map_in_ = register_parameter("map_in", at::randn({width, rank}, real) / std::sqrt(static_cast<double>(width)));
    // Zero at first: a random map would move logits at random and close units before it has learned anything.
    map_out_ = register_parameter("map_out", at::zeros({rank > 0 ? rank : width, units}, real));
  }
}

torch::Tensor HardConcreteImpl::range() const { return at::softplus(range_); }

double HardConcreteImpl::open_logit(double tau) const {
  const double edge = std::log(-options_.gamma / options_.zeta);  // sigmoid(x) (zeta - gamma) + gamma > 0  <=>  x > edge
  switch (options_.test_rule) {
    case TestRule::threshold:
      return logit(options_.pi);
    case TestRule::median:
      return tau * edge;
    case TestRule::louizos:
      return edge;
  }
  return 0;
}

torch::Tensor HardConcreteImpl::open_probability(double tau) const {
  return at::sigmoid(logits_ - tau * std::log(-options_.gamma / options_.zeta));
}

// Rows without an open unit get the unit with the largest logit: a prediction needs at least one.
torch::Tensor HardConcreteImpl::rule(const torch::Tensor& logits, double tau) const {
  torch::Tensor values;
  if (options_.test_rule == TestRule::threshold) {
    values = logits.gt(open_logit(tau)).to(logits.scalar_type());
  } else {
    const double scale = options_.test_rule == TestRule::median ? tau : 1.0;
    values = at::sigmoid(logits / scale).mul(options_.zeta - options_.gamma).add(options_.gamma).clamp(0, 1);
  }
  const torch::Tensor none_open = values.sum(-1, true).eq(0);
  const torch::Tensor largest = at::zeros_like(values).scatter_(-1, logits.argmax(-1, true), 1);
  return at::where(none_open, largest, values);
}

torch::Tensor HardConcreteImpl::test_values(const GateState& state) const {
  if (state.phase == Phase::warmup) return at::ones_like(logits_);
  const torch::Tensor values = rule(logits_.detach(), state.tau);
  if (state.keep >= 1) return values;
  // Top-k: the order decides, whatever the logits are.
  const torch::Tensor kept = keep_mask(state);
  return options_.test_rule == TestRule::threshold ? kept : values * kept;
}

torch::Tensor HardConcreteImpl::ever_open(const GateState& state) const {
  if (!has_instance_logits() || state.phase == Phase::warmup) return test_values(state).gt(0);
  const torch::Tensor largest = (logits_ + range()).detach();
  torch::Tensor open = largest.gt(open_logit(state.tau));
  if (state.keep < 1) open = open & keep_mask(state).gt(0);
  return at::where(open.any(), open, largest.eq(largest.max()));  // at least one: forward() opens it
}

torch::Tensor HardConcreteImpl::keep_mask(const GateState& state) const {
  if (std::isfinite(state.keep_above)) {
    const torch::Tensor logits = logits_.detach();
    return logits.gt(state.keep_above).to(logits.scalar_type()).index_fill_(0, logits.argmax(0, true), 1);
  }
  const int64_t kept = std::max<int64_t>(1, std::llround(state.keep * static_cast<double>(units())));
  const torch::Tensor order = std::get<1>(logits_.detach().sort(/*stable=*/true, /*dim=*/0, /*descending=*/true));
  return at::zeros_like(logits_).detach().index_fill_(0, order.narrow(0, 0, kept), 1);
}

void HardConcreteImpl::force(const torch::Tensor& open, double tau) {
  torch::NoGradGuard no_grad;
  const double edge = open_logit(tau);
  // The logit of an instance gate may be below the edge as long as its range allows an example to pass it.
  const torch::Tensor lowest =
      has_instance_logits() ? edge + force_margin - range() : at::full_like(logits_, edge + force_margin);
  const torch::Tensor opened = at::maximum(logits_, lowest), closed = logits_.clamp_max(edge - force_margin);
  if (has_instance_logits()) range_.copy_(at::where(open, range_, at::full_like(range_, -100.0)));  // closed for every input
  logits_.copy_(at::where(open, opened, closed));
}

torch::Tensor HardConcreteImpl::example_logits(const torch::Tensor& r, const GateState& state, const torch::Tensor& index) const {
  torch::Tensor alive = ever_open(state).to(r.scalar_type());
  if (index.defined()) alive = alive.index_select(0, index);
  torch::Tensor read = r * alive;
  if (map_in_.defined()) read = at::matmul(read, map_in_);
  return logits_ + range() * at::tanh(at::matmul(read, map_out_));
}

Gated HardConcreteImpl::forward(const torch::Tensor& r, const GateState& state, const Draw& draw, const torch::Tensor& index,
                                bool gates_wanted) {
  const bool fine = index.defined() && index.dim() == 2;
  const bool frozen = state.phase == Phase::harden || options_.logits == LogitKind::fixed;
  const bool instance = has_instance_logits() && state.phase != Phase::warmup;
  Gated result;
  torch::Tensor logits = instance ? example_logits(r, state, index) : logits_;
  if (frozen) logits = logits.detach();
  result.logits = logits;
  const double edge = std::log(-options_.gamma / options_.zeta);
  result.open_probability = at::sigmoid(draw.live_tau.defined() ? logits - draw.live_tau * edge : logits - state.tau * edge);
  result.expected_open = instance ? at::matmul(result.open_probability, cost_).mean() : at::dot(result.open_probability, cost_);
  if (state.phase == Phase::warmup) {
    result.value = r;
    return result;
  }
  const auto spread = [&](const torch::Tensor& per_unit) {  // from units to the elements of r
    if (!index.defined()) return per_unit;
    return fine ? per_unit.index_select(0, index.reshape(-1)).view(index.sizes()) : per_unit.index_select(-1, index);
  };
  if (frozen || !is_training()) {
    torch::Tensor candidates = logits.detach();
    // A unit that never opens (and may be removed) or that top-k closes must not become the only open unit of an example.
    if (state.keep < 1) candidates = candidates.masked_fill(keep_mask(state).eq(0), -HUGE_VAL);
    if (instance) candidates = candidates.masked_fill(ever_open(state).logical_not(), -HUGE_VAL);
    const bool by_order = state.keep < 1 && !instance && options_.test_rule == TestRule::threshold;
    result.gates = spread(by_order ? keep_mask(state) : rule(candidates, state.tau));
  } else {
    const bool per_example = options_.noise == Noise::example;
    const bool by_element = fine && per_example;  // each element is a unit of its own within an example
    const torch::Tensor keep = state.keep < 1 ? keep_mask(state) : torch::Tensor();
    GateSampling how{state.tau, options_.gamma, options_.zeta, key_of(draw), draw.example_ids, keep, gates_wanted};
    if (draw.live_tau.defined()) how.live_tau = draw.live_tau.const_data_ptr<double>();
    if (!per_example) how.ids = at::full({1}, batch_id, logits.options().dtype(torch::kInt64).requires_grad(false));
    if (by_element && keep.defined()) how.keep = spread(keep);
    if (by_element || (per_example && !index.defined())) {
      const GateSample sample = sample_gates(r, by_element ? spread(logits) : logits, how);
      result.value = sample.value;
      result.gates = sample.gates;
      return result;
    }
    const torch::Tensor z = sample_gates({}, logits, how).gates;
    result.gates = spread(fine ? z.reshape({-1}) : z);
  }
  result.value = r * result.gates.to(r.scalar_type());
  return result;
}

}  // namespace l0gm
