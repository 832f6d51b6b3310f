#include "gate/gate_competition.h"

#include <ATen/Functions.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "gate/step_numbers.h"
#include "gate/tensor_values.h"

namespace l0gm {

namespace {

constexpr double prices = 200;        // the price is set about this often while annealing
constexpr double gain = 3;            // how much less than the target is wanted while more is open
constexpr double least_slope = 0.02;  // a gate that is hardly ever between open and closed says little: its worth shrinks
constexpr double full_speed = 0.2;    // of the median distance from the price: units beyond it move at full speed
constexpr double largest_logit = 4;   // P(open) there is below .06 or above .99: further away a gate would not come back in time
constexpr int64_t points = 8;         // of the quadrature of E[z]

// The noise at which a gate is (k + 1/2) / points open, at tau = 1: [points], or [points, 1, 1].
torch::Tensor edges_of(const GateOptions& options, const torch::Tensor& like) {
  std::vector<double> edges;
  for (int64_t k = 0; k < points; ++k) {
    const double t = (static_cast<double>(k) + 0.5) / static_cast<double>(points);
    const double s = (t - options.gamma) / (options.zeta - options.gamma);
    edges.push_back(std::log(s / (1 - s)));
  }
  return at::tensor(edges, torch::kFloat64).to(like.options());
}

// P(z > t) = sigmoid(logits - edge(t)) for all edges: [points, …].
template <class Number>
torch::Tensor open_beyond(const torch::Tensor& logits, const torch::Tensor& edges, const Number& tau) {
  std::vector<int64_t> shape(static_cast<size_t>(logits.dim()) + 1, 1);
  shape[0] = points;
  return at::sigmoid(logits.unsqueeze(0) - edges.view(shape) * tau);
}

// The value above which `share` of the total weight lies.
double weighted_quantile(const std::vector<double>& values, const std::vector<double>& weights, double share) {
  std::vector<size_t> order(values.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return values[a] > values[b]; });
  const double wanted = share * std::accumulate(weights.begin(), weights.end(), 0.0);
  double above = 0;
  for (size_t i = 0; i + 1 < order.size(); ++i) {
    above += weights[order[i]];
    if (above >= wanted) return (values[order[i]] + values[order[i + 1]]) / 2;
  }
  return values[order.back()];
}

}  // namespace

torch::Tensor priced_cost(const GatePass::Record& record, double tau) {
  const HardConcreteImpl& gate = *record.site->gate;
  // E[z] is the integral of P(z > t) over t.
  const torch::Tensor& logits = record.gated.logits;
  const torch::Tensor value = open_beyond(logits, edges_of(gate.options(), logits.detach()), tau).mean(0);
  return value.dim() == 2 ? at::matmul(value, gate.cost()).mean() : at::dot(value, gate.cost());
}

GateCompetition::GateCompetition(std::vector<const GateSite*> sites, int64_t annealing_steps, double rate, bool by_count)
    : sites_(std::move(sites)), annealing_steps_(annealing_steps), rate_(rate), by_count_(by_count) {
  for (const GateSite* site : sites_) {
    const HardConcreteImpl& gate = *site->gate;
    total_cost_ += by_count_ ? static_cast<double>(gate.units()) : gate.cost().sum().item<double>();
    edges_.push_back(edges_of(gate.options(), gate.logits().detach()));
    const auto real = gate.logits().options().dtype(torch::kFloat32).requires_grad(false);
    benefit_.push_back(at::zeros({gate.units()}, real));
    slope_.push_back(at::zeros({gate.units()}, real));
    shares_.push_back(at::ones({gate.units()}, real));
  }
}

int64_t GateCompetition::steps_between_prices() const {
  return std::max<int64_t>(1, std::llround(static_cast<double>(annealing_steps_) / prices));
}

double GateCompetition::weight_of_step() const {
  const double window = std::clamp(static_cast<double>(annealing_steps_) / 20, 3.0, 50.0);
  return 1 / std::min(static_cast<double>(steps_) + 1, window);
}

void GateCompetition::set_numbers(StepNumbers& numbers) const {
  numbers.set(StepNumber::follow_weight, weight_of_step());
  numbers.set(StepNumber::price, price_);
  numbers.set(StepNumber::scale, scale_);
}

void GateCompetition::follow(size_t site, const GatePass::Record& record, const GateState& state, double price_in_loss,
                             const StepNumbers* live) {
  torch::NoGradGuard no_grad;
  HardConcrete gate = sites_[site]->gate;
  const double weight = weight_of_step();
  const auto average = [&](torch::Tensor& mean, const torch::Tensor& value) {
    const torch::Tensor same = value.to(mean.options());
    live != nullptr ? mean.lerp_(same, live->at(StepNumber::follow_weight).to(mean.scalar_type())) : mean.lerp_(same, weight);
  };
  if (gate->has_instance_logits()) {
    average(shares_[site], record.gated.logits.gt(gate->open_logit(state.tau)).to(torch::kFloat32).mean(0));
  }
  const torch::Tensor logits = record.gated.logits.detach();
  const torch::Tensor p = live != nullptr ? open_beyond(logits, edges_[site], live->at(StepNumber::tau))
                                          : open_beyond(logits, edges_[site], state.tau);
  const torch::Tensor slope = (p - p.square()).flatten(0, -2).mean(0) * gate->cost();
  const torch::Tensor& gradient = gate->logits().grad();
  if (gradient.defined()) average(benefit_[site], price_in_loss != 0 ? slope * price_in_loss - gradient : -gradient);
  average(slope_[site], slope);
}

double GateCompetition::decide(const GateState& state, double wanted_share) {
  torch::NoGradGuard no_grad;
  if (steps_ % steps_between_prices() == 0) set_price(state, wanted_share);
  ++steps_;
  return price_;
}

void GateCompetition::move(const GateState& state, const StepNumbers* live) {
  torch::NoGradGuard no_grad;
  for (size_t i = 0; i < sites_.size(); ++i) {
    HardConcrete gate = sites_[i]->gate;
    const torch::Tensor above = live != nullptr ? (worth(i, state) - live->at(StepNumber::price)) / live->at(StepNumber::scale)
                                                : (worth(i, state) - price_) / scale_;
    gate->logits().add_(above.clamp(-1, 1), rate_).clamp_(-largest_logit, largest_logit);
    gate->logits().mutable_grad() = torch::Tensor();  // no optimiser moves them as well
  }
}

torch::Tensor GateCompetition::worth(size_t site, const GateState& state) const {
  const torch::Tensor alone = benefit_[site] / (slope_[site] + sites_[site]->gate->cost() * least_slope);
  const torch::Tensor share = share_without_parts(site, state);
  return share.defined() ? alone * share : alone;
}

torch::Tensor GateCompetition::share_without_parts(size_t site, const GateState& state) const {
  torch::Tensor parts;
  for (const GateSite* inner : sites_) {
    if (inner->outer != sites_[site]) continue;
    const HardConcreteImpl& gate = *inner->gate;
    if (!parts.defined()) parts = at::zeros_like(sites_[site]->gate->cost());
    parts.index_add_(0, inner->outer_unit.to(parts.device()),
                     gate.cost() * gate.logits().detach().gt(gate.open_logit(state.tau)));
  }
  if (!parts.defined()) return {};
  const torch::Tensor& own = sites_[site]->gate->cost();
  return own / (own + parts);
}

void GateCompetition::set_price(const GateState& state, double wanted_share) {
  std::vector<double> worths, cost;
  double open_cost = 0;
  for (size_t i = 0; i < sites_.size(); ++i) {
    const HardConcreteImpl& gate = *sites_[i]->gate;
    const auto value = to_doubles(worth(i, state));
    const auto weight = by_count_ ? std::vector<double>(value.size(), 1.0) : to_doubles(gate.cost());
    torch::Tensor is_open = gate.has_instance_logits() ? shares_[i] : gate.logits().gt(gate.open_logit(state.tau));
    if (const GateSite* outer = sites_[i]->outer)
      is_open = is_open * sites_[i]->from_outer(outer->gate->logits().gt(outer->gate->open_logit(state.tau)));
    const auto open = to_doubles(is_open);
    for (const double w : value) worths.push_back(std::isfinite(w) ? w : 0);  // a loss that is not finite ends the run later
    cost.insert(cost.end(), weight.begin(), weight.end());
    if (sites_[i]->shared != nullptr && !by_count_) {
      open_cost += sites_[i]->shared->of(open);
      continue;
    }
    for (size_t j = 0; j < weight.size(); ++j) open_cost += weight[j] * open[j];
  }
  open_share_ = open_cost / total_cost_;
  price_ = weighted_quantile(worths, cost, std::clamp(wanted_share - gain * (open_share_ - wanted_share), 0.0, 1.0));
  for (double& value : worths) value = std::abs(value - price_);
  scale_ = std::max(weighted_quantile(worths, cost, 0.5) * full_speed, 1e-20);
}

std::map<std::string, torch::Tensor> GateCompetition::memory() const {
  std::map<std::string, torch::Tensor> result;
  result["steps"] = at::full({1}, steps_, torch::kInt64);
  result["price"] = at::full({1}, price_, torch::kFloat64);
  result["scale"] = at::full({1}, scale_, torch::kFloat64);
  result["open_share"] = at::full({1}, open_share_, torch::kFloat64);
  for (size_t i = 0; i < sites_.size(); ++i) {
    result[sites_[i]->name + "/benefit"] = benefit_[i].clone();
    result[sites_[i]->name + "/slope"] = slope_[i].clone();
    result[sites_[i]->name + "/open_share"] = shares_[i].clone();
  }
  return result;
}

void GateCompetition::restore(const std::map<std::string, torch::Tensor>& memory) {
  steps_ = memory.at("steps").item<int64_t>();
  price_ = memory.at("price").item<double>();
  scale_ = memory.at("scale").item<double>();
  open_share_ = memory.at("open_share").item<double>();
  for (size_t i = 0; i < sites_.size(); ++i) {
    benefit_[i].copy_(memory.at(sites_[i]->name + "/benefit"));
    slope_[i].copy_(memory.at(sites_[i]->name + "/slope"));
    shares_[i].copy_(memory.at(sites_[i]->name + "/open_share"));
  }
}

}  // namespace l0gm
