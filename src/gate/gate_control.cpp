#include "l0gm/gate_control.h"

#include <ATen/Functions.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "gate/gate_competition.h"
#include "gate/gate_figures.h"
#include "gate/gate_target.h"
#include "gate/static_mask.h"
#include "gate/step_numbers.h"
#include "gate/tensor_values.h"
#include "gate/unit_choice.h"
#include "gate/unit_search.h"
#include "l0gm/error.h"

namespace l0gm {

namespace {

constexpr double converged_fraction = 0.05, converged_units = 2;  // of the units: at most this many projected
constexpr double travel = 30;                                     // logits: what they may move while annealing, all in all
constexpr double slowest = 0.05, fastest = 1;                     // logits per step
constexpr int64_t fewest_annealing_steps = 10;
constexpr double late_share = 0.1;   // of annealing: what changes then had not settled
constexpr double decided_logit = 4;  // of units that were measured, once they are fixed

}  // namespace

GateControl::GateControl(const GateOptions& options, std::vector<const GateSite*> sites, const ControlPlan& plan)
    : options_(options),
      sites_(std::move(sites)),
      plan_(plan),
      rate_(plan.rate.value_or(learning_rate(plan.annealing_steps))),
      total_cost_(cost_of_all_units(sites_)),
      target_share_(gate_target(options_, sites_)),
      mask_(std::make_unique<StaticMask>(options_, sites_, target_share_, plan.annealing_steps, plan.seed)) {
  int64_t units = 0;
  for (const GateSite* site : sites_) {
    units += site->gate->units();
    late_logits_.push_back(at::zeros({site->gate->units()}, torch::kFloat64));
  }
  const bool by_count = options_.control == ControlKind::top_k;
  if (plan.measures && !sites_.empty() && measures_units(options_, units)) {
    search_ = std::make_unique<UnitSearch>(sites_, target_share_, by_count);
  } else if (options_.control != ControlKind::lambda && options_.logits != LogitKind::fixed) {
    competition_ = std::make_unique<GateCompetition>(sites_, plan.annealing_steps, rate_, by_count);
  }
}

GateControl::~GateControl() = default;

double GateControl::learning_rate(int64_t annealing_steps) {
  return std::clamp(travel / static_cast<double>(std::max<int64_t>(1, annealing_steps)), slowest, fastest);
}

std::string GateControl::obstacle() const {
  if (sites_.empty() || options_.logits == LogitKind::fixed) return "";
  const double start = std::log(options_.init_open / (1 - options_.init_open));
  const double needed = 2 * std::abs(start - sites_[0]->gate->open_logit(0.5));  // there, and the same beyond
  const double reach = rate_ * static_cast<double>(plan_.annealing_steps);
  if (plan_.annealing_steps < fewest_annealing_steps) {
    return fmt::format("{} steps of annealing are too few for gates to learn which units matter: they need {}, better 100",
                       plan_.annealing_steps, fewest_annealing_steps);
  }
  if (!search_ && reach < needed) {  // a search sets logits, it does not move them
    return fmt::format(
        "{} steps of annealing at a gate learning rate of {} move a logit by at most {:.2g}, and closing a unit takes about "
        "{:.2g}: "
        "{:.2g} or more would do",
        plan_.annealing_steps, rate_, reach, needed, learning_rate(plan_.annealing_steps));
  }
  return "";
}

double GateControl::target_now(const GateState& state) const { return 1 + (target_share_ - 1) * state.ramp; }

GateState GateControl::state(GateState scheduled) const {
  if (scheduled.phase != Phase::anneal) return scheduled;
  if (search_) {
    scheduled.tau = UnitSearch::tau;
  } else if (options_.control == ControlKind::top_k && options_.logits != LogitKind::fixed && !sites_.empty()) {
    limit(scheduled, target_now(scheduled));
  }
  return scheduled;
}

// Each site's largest unit is open whatever its logit is; the others compete for the rest of the number. Units that are equal to
// the first one that is left out are left out as well: never more than the number.
void GateControl::limit(GateState& state, double share) const {
  state.keep = share;
  if (sites_.size() < 2 || share >= 1) return;
  std::vector<double> others;  // all but the largest of each site
  for (const GateSite* site : sites_) {
    std::vector<double> logits = to_doubles(site->gate->logits());
    logits.erase(std::max_element(logits.begin(), logits.end()));
    others.insert(others.end(), logits.begin(), logits.end());
  }
  const auto sites = static_cast<int64_t>(sites_.size()), units = static_cast<int64_t>(others.size()) + sites;
  const int64_t rest = std::max<int64_t>(0, std::llround(share * static_cast<double>(units)) - sites);
  state.keep_above = std::numeric_limits<float>::lowest();
  if (rest >= units - sites) return;
  std::nth_element(others.begin(), others.begin() + rest, others.end(), std::greater<>());
  state.keep_above = others[static_cast<size_t>(rest)];
}

double GateControl::price() const {
  return options_.control == ControlKind::lambda ? options_.lambda.value_or(0) * ramp_ : price_;
}

// The logits themselves are moved by the competition; only a map of instance logits learns from the loss.
bool GateControl::price_is_in_loss() const {
  return options_.control == ControlKind::target && options_.logits == LogitKind::instance;
}

bool GateControl::wants_probe(const GateState& state) const { return mask_->wants_probe(state); }

torch::Tensor GateControl::penalty(const GatePass& pass) const {
  const GateState& state = pass.state();
  if (sites_.empty() || state.phase != Phase::anneal || options_.logits == LogitKind::fixed) return {};
  if (options_.control == ControlKind::lambda) {
    const torch::Tensor cost = pass.expected_cost();
    if (pass.live() != nullptr) return cost * pass.live()->at(StepNumber::price_in_loss).to(cost.scalar_type());
    return cost * (*options_.lambda * state.ramp);
  }
  if (!price_is_in_loss()) return {};
  torch::Tensor paid;
  for (const GateSite* site : sites_) {
    if (const GatePass::Record* record = pass.record(*site)) {
      const torch::Tensor cost = priced_cost(*record, state.tau);
      paid = paid.defined() ? paid + cost : cost;
    }
  }
  return paid.defined() ? paid * price_ : paid;
}

void GateControl::observe(const GatePass& pass) {
  follow(pass);
  decide(pass.state());
  move(pass.state());
}

// Top-k and gates of examples follow the logits of each step; masks are ranked on the host, and their values may follow tau.
bool GateControl::can_be_replayed(const GateState& state) const {
  if (sites_.empty() || state.phase == Phase::harden) return true;
  if (options_.logits == LogitKind::fixed)
    return !mask_->ranks(state) && (state.phase != Phase::anneal || options_.test_rule != TestRule::median);
  return state.phase == Phase::warmup || (options_.logits == LogitKind::global && options_.control != ControlKind::top_k);
}

void GateControl::set_numbers(const GateState& state, StepNumbers& numbers) const {
  numbers.set(StepNumber::tau, state.tau);
  numbers.set(StepNumber::price_in_loss, options_.lambda.value_or(0) * state.ramp);
  if (competition_) competition_->set_numbers(numbers);
}

void GateControl::follow(const GatePass& pass) {
  torch::NoGradGuard no_grad;
  const GateState& state = pass.state();
  const bool compete = competition_ != nullptr && !sites_.empty() && state.phase == Phase::anneal;
  for (size_t i = 0; i < sites_.size(); ++i) {
    const GatePass::Record* record = pass.record(*sites_[i]);
    if (record == nullptr) continue;  // a skipped layer
    if (mask_->ranks(state)) mask_->rank(i, *record);
    if (compete) competition_->follow(i, *record, state, price_is_in_loss() ? price_ : 0, pass.live());
  }
}

void GateControl::decide(const GateState& state) {
  torch::NoGradGuard no_grad;
  ramp_ = state.ramp;
  mask_->step_done(state);
  if (!chooses() || sites_.empty() || state.phase != Phase::anneal) return;
  remember_late_logits();
  if (competition_) price_ = competition_->decide(state, target_now(state));
}

void GateControl::move(const GateState& state, StepNumbers* live) {
  if (!chooses() || sites_.empty() || state.phase != Phase::anneal) return;
  if (competition_) competition_->move(state, live);
  if (search_) {
    for (const GateSite* site : sites_) HardConcrete(site->gate)->logits().mutable_grad() = torch::Tensor();  // look() moves them
  }
}

bool GateControl::wants_look(const GateState& state) const {
  return search_ != nullptr && state.phase == Phase::anneal && search_->is_due(annealed_, plan_.annealing_steps);
}

void GateControl::look(const UnitLosses& losses, const BetterUnits& better) {
  search_->look(static_cast<double>(annealed_) / static_cast<double>(plan_.annealing_steps), losses, better);
  price_ = search_->price();
}

int64_t GateControl::measurements() const { return search_ ? search_->measurements() : 0; }

std::vector<Exchange> GateControl::exchanges() const {
  std::vector<Exchange> found = search_ ? search_->exchanges() : std::vector<Exchange>{};
  std::erase_if(found, [](const Exchange& exchange) { return exchange.closed < 0; });
  return found;
}

std::string GateControl::unit_name(int64_t unit) const {
  for (const GateSite* site : sites_) {
    if (unit < site->gate->units()) return site->unit_name ? site->unit_name(unit) : fmt::format("{} {}", site->name, unit);
    unit -= site->gate->units();
  }
  throw std::logic_error("there is no such unit");
}

int64_t GateControl::late_step() const {
  return static_cast<int64_t>(std::floor((1 - late_share) * static_cast<double>(plan_.annealing_steps)));
}

void GateControl::remember_late_logits() {
  if (annealed_++ != late_step()) return;
  for (size_t i = 0; i < sites_.size(); ++i) late_logits_[i].copy_(sites_[i]->gate->logits());
}

void GateControl::start_annealing(const GateState& state) {
  if (search_) search_->start();
  if (options_.logits == LogitKind::fixed) mask_->pick(state);
}

Hardening GateControl::harden(const GateState& state) {
  torch::NoGradGuard no_grad;
  Hardening result;
  if (options_.logits == LogitKind::fixed && !mask_->picked())
    throw std::logic_error("static logits: harden() needs start_annealing() first");
  const bool project = options_.control != ControlKind::lambda && options_.logits != LogitKind::fixed;
  std::vector<torch::Tensor> ranking, weight, masks;
  GateState step_before = state;  // top-k: units beyond k were closed before
  if (options_.control == ControlKind::top_k) limit(step_before, target_share_);
  for (size_t i = 0; i < sites_.size(); ++i) {
    ranking.push_back(sites_[i]->gate->logits());
    const torch::Tensor cost = sites_[i]->gate->cost().to(torch::kCPU, torch::kFloat64);
    const bool instance = project && sites_[i]->gate->has_instance_logits();
    weight.push_back(instance ? cost * competition_->open_share_of_units(i).to(torch::kCPU, torch::kFloat64).clamp_min(1e-3)
                              : cost);
  }
  if (project) {
    const UnitBudget budget{target_share_, total_cost_, options_.k, search_ ? std::optional(0.0) : std::nullopt};
    masks = choose_units(sites_, ranking, weight, budget);
    result.logit_spread = at::cat(ranking).std(/*unbiased=*/false).item<double>();
    if (annealed_ > late_step()) {
      const std::vector<torch::Tensor> earlier = choose_units(sites_, late_logits_, weight, budget);
      for (size_t i = 0; i < sites_.size(); ++i) result.late_changes += earlier[i].ne(masks[i]).sum().item<int64_t>();
    }
  }
  std::vector<torch::Tensor> were_open;  // asked for before any logit moves: sites depend on each other
  for (const GateSite* site : sites_) were_open.push_back(open_units(*site, step_before).cpu());
  for (size_t i = 0; i < sites_.size(); ++i) {
    HardConcrete gate = sites_[i]->gate;
    result.units += gate->units();
    if (project) {
      const torch::Tensor before = were_open[i];
      if (gate->has_instance_logits()) masks[i] &= before;  // units that no example opens cost nothing and stay closed
      result.projected_units += before.ne(masks[i]).sum().item<int64_t>();
      const torch::Tensor open = masks[i].to(gate->logits().device());
      if (search_) gate->logits().copy_(open.to(gate->logits().scalar_type()) * (2 * decided_logit) - decided_logit);
      gate->force(open, state.tau);
    }
  }
  for (const GateSite* site : sites_) result.open_units += open_units(*site, state).sum().item<int64_t>();
  // With few units a share of them would be less than one.
  const double allowed = std::max(converged_fraction * static_cast<double>(result.units), converged_units);
  result.converged = static_cast<double>(result.projected_units) <= allowed;
  return result;
}

std::map<std::string, torch::Tensor> GateControl::memory() const {
  std::map<std::string, torch::Tensor> result = mask_->memory();
  result["price"] = at::full({1}, price_, torch::kFloat64);
  result["ramp"] = at::full({1}, ramp_, torch::kFloat64);
  if (competition_) {
    for (const auto& [name, tensor] : competition_->memory()) result["competition/" + name] = tensor;
  }
  if (search_) result["search"] = search_->memory();
  if (chooses()) {
    result["annealed"] = at::full({1}, annealed_, torch::kInt64);
    for (size_t i = 0; i < sites_.size(); ++i) result[sites_[i]->name + "/late_logits"] = late_logits_[i].clone();
  }
  return result;
}

void GateControl::restore(const std::map<std::string, torch::Tensor>& memory) {
  price_ = memory.at("price").item<double>();
  ramp_ = memory.at("ramp").item<double>();
  mask_->restore(memory);
  if (competition_) {
    const std::string prefix = "competition/";
    std::map<std::string, torch::Tensor> own;
    for (const auto& [name, tensor] : memory) {
      if (name.starts_with(prefix)) own[name.substr(prefix.size())] = tensor;
    }
    competition_->restore(own);
  }
  if (search_) search_->restore(memory.at("search"));
  if (chooses()) {
    annealed_ = memory.at("annealed").item<int64_t>();
    for (size_t i = 0; i < sites_.size(); ++i) late_logits_[i] = memory.at(sites_[i]->name + "/late_logits").clone();
  }
}

}  // namespace l0gm
