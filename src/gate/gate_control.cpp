#include "l0gm/gate_control.h"

#include <ATen/Functions.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>

#include "gate/gate_competition.h"
#include "gate/tensor_values.h"
#include "gate/unit_search.h"
#include "l0gm/error.h"

namespace l0gm {

namespace {

constexpr double converged_fraction = 0.05, converged_units = 2;  // of the units: at most this many projected
constexpr double travel = 30;                                     // logits: what they may move while annealing, all in all
constexpr double slowest = 0.05, fastest = 1;                     // logits per step
constexpr int64_t fewest_annealing_steps = 10;
constexpr double cost_tolerance = 1e-9;  // costs are sums of rounded shares
constexpr double late_share = 0.1;       // of annealing: what changes then had not settled
constexpr int64_t most_measured_units = 256, most_measured_on_request = 2048;
constexpr double decided_logit = 4;  // of units that were measured, once they are fixed

// Scores of dimensions, or of the single elements of fine units, summed into the site's units.
torch::Tensor by_unit(const GatePass::Record& record, const torch::Tensor& scores) {
  if (!record.index.defined()) return scores;
  return at::zeros({record.site->gate->units()}, scores.options()).index_add_(0, record.index.flatten(), scores.flatten());
}

// First-order effect on the loss of closing each unit. Fine units: summed over the examples that have the unit before the sign is
// dropped, as the gradient of a dimension already is.
torch::Tensor gradient_score(const GatePass::Record& record) {
  const torch::Tensor gradient = record.probe.grad();
  return gradient.dim() == 2 ? by_unit(record, gradient).abs() : by_unit(record, gradient.abs());
}

// The size of the representation at the site: per dimension the mean over examples, for fine units per element its part of that
// mean.
torch::Tensor magnitude(const GatePass::Record& record) {
  const torch::Tensor size = record.representation.abs();
  const bool fine = record.index.defined() && record.index.dim() == 2;
  return fine ? size / static_cast<double>(size.size(0)) : size.mean(0);
}

}  // namespace

// Units must be few enough, and gates such that a look at single units tells.
bool measures_units(const GateOptions& options, int64_t units) {
  const bool possible = options.logits == LogitKind::global && options.control != ControlKind::lambda &&
                        options.unit != UnitKind::none && options.pi == 0.5;
  if (options.worth != UnitWorth::measured)
    return possible && options.worth == UnitWorth::automatic && options.unit == UnitKind::group && units <= most_measured_units;
  if (!possible)
    throw UserError("gate.worth = measured needs gate.target_active or gate.k, gate.logits = global and gate.pi = 0.5");
  if (units > most_measured_on_request) {
    throw UserError(fmt::format("gate.worth = measured closes units one by one: at most {}, and there are {}. Leave it out.",
                                most_measured_on_request, units));
  }
  return true;
}

void resolve_control(GateOptions& options, bool control_named) {
  if (options.unit == UnitKind::none) return;
  const int named = int(options.lambda.has_value()) + int(options.target_active.has_value()) + int(options.k.has_value());
  if (named > 1) throw UserError("gate.lambda, gate.target_active and gate.k exclude each other: set one of them");
  const ControlKind implied = options.target_active ? ControlKind::target : options.k ? ControlKind::top_k : ControlKind::lambda;
  if (control_named && named == 1 && options.control != implied) {
    throw UserError(
        fmt::format("gate.control = {} does not go with gate.{}; leave out gate.control: it follows from the other option",
                    name_of_enum(options.control),
                    options.lambda          ? "lambda"
                    : options.target_active ? "target_active"
                                            : "k"));
  }
  if (!control_named || named == 1) options.control = implied;
  if (options.control == ControlKind::lambda && !options.lambda) options.lambda = GateOptions::default_lambda;
  if (options.control == ControlKind::target && !options.target_active)
    throw UserError("gate.control = target needs gate.target_active");
  if (options.control == ControlKind::top_k && !options.k) throw UserError("gate.control = top-k needs gate.k");
  if (options.logits == LogitKind::fixed && options.control == ControlKind::lambda) {
    throw UserError("gate.logits = static picks a mask of a given size: set gate.target_active or gate.k, not gate.lambda");
  }
}

GateControl::GateControl(const GateOptions& options, std::vector<const GateSite*> sites, const ControlPlan& plan)
    : options_(options), sites_(std::move(sites)), plan_(plan), rate_(plan.rate.value_or(learning_rate(plan.annealing_steps))) {
  int64_t units = 0;
  for (const GateSite* site : sites_) {
    units += site->gate->units();
    total_cost_ += site->gate->cost().sum().item<double>();
    scores_.push_back(at::zeros({site->gate->units()}, torch::kFloat64));
    late_logits_.push_back(at::zeros({site->gate->units()}, torch::kFloat64));
  }
  if (options_.k && !sites_.empty() && *options_.k > units) {
    throw UserError(fmt::format("gate.k = {} but there are only {} units", *options_.k, units));
  }
  const bool by_count = options_.control == ControlKind::top_k;
  if (plan.measures && !sites_.empty() && measures_units(options_, units)) {
    search_ = std::make_unique<UnitSearch>(sites_, target_share(), by_count);
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

double GateControl::target_share() const {
  if (options_.target_active) return *options_.target_active;
  int64_t units = 0;
  for (const GateSite* site : sites_) units += site->gate->units();
  return options_.k ? static_cast<double>(*options_.k) / static_cast<double>(units) : 1;
}

double GateControl::target_now(const GateState& state) const { return 1 + (target_share() - 1) * state.ramp; }

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

bool GateControl::wants_probe(const GateState& state) const {
  return options_.logits == LogitKind::fixed && options_.static_by == StaticBy::gradient && state.phase == Phase::warmup;
}

torch::Tensor GateControl::penalty(const GatePass& pass) const {
  const GateState& state = pass.state();
  if (sites_.empty() || state.phase != Phase::anneal || options_.logits == LogitKind::fixed) return {};
  if (options_.control == ControlKind::lambda) return pass.expected_cost() * (*options_.lambda * state.ramp);
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
  torch::NoGradGuard no_grad;
  const GateState& state = pass.state();
  ramp_ = state.ramp;
  const bool compete = competition_ != nullptr && !sites_.empty() && state.phase == Phase::anneal;
  for (size_t i = 0; i < sites_.size(); ++i) {
    const GatePass::Record* record = pass.record(*sites_[i]);
    if (record == nullptr) continue;  // a skipped layer
    if (options_.logits == LogitKind::fixed && state.phase == Phase::warmup) {
      if (wants_probe(state) && !record->probe.defined())
        throw std::logic_error("ranking by gradient needs GatePass::probing during warm-up");
      const torch::Tensor score = record->probe.defined() ? gradient_score(*record) : by_unit(*record, magnitude(*record));
      scores_[i] += score.to(torch::kCPU, torch::kFloat64);
    }
    if (compete) competition_->follow(i, *record, state, price_is_in_loss() ? price_ : 0);
  }
  if (!chooses() || sites_.empty() || state.phase != Phase::anneal) return;
  remember_late_logits();
  if (competition_) price_ = competition_->move(state, target_now(state));
  if (search_) {
    for (const GateSite* site : sites_) HardConcrete(site->gate)->logits().mutable_grad() = torch::Tensor();  // look() moves them
  }
}

bool GateControl::wants_look(const GateState& state) const {
  return search_ != nullptr && state.phase == Phase::anneal && search_->is_due(annealed_, plan_.annealing_steps);
}

void GateControl::look(const UnitLosses& losses) {
  search_->look(static_cast<double>(annealed_) / static_cast<double>(plan_.annealing_steps), losses);
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

// Opens units over all sites by falling rank (ties by order) while the sum of their weights stays within the target. The first of
// each site comes before all others: a site without an open unit would open one beyond the target.
std::vector<torch::Tensor> GateControl::choose(const std::vector<torch::Tensor>& ranking,
                                               const std::vector<torch::Tensor>& weight) const {
  std::vector<double> rank, cost;
  std::vector<uint8_t> reserved;
  for (size_t i = 0; i < sites_.size(); ++i) {
    const auto r = to_doubles(ranking[i]), w = to_doubles(weight[i]);
    rank.insert(rank.end(), r.begin(), r.end());
    cost.insert(cost.end(), w.begin(), w.end());
    reserved.resize(rank.size(), 0);
    reserved[rank.size() - r.size() + static_cast<size_t>(std::max_element(r.begin(), r.end()) - r.begin())] = 1;
  }
  std::vector<size_t> order(rank.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return reserved[a] != reserved[b] ? reserved[a] > reserved[b] : rank[a] > rank[b];
  });
  const bool equal = std::all_of(cost.begin(), cost.end(), [&](double c) { return std::abs(c - cost[0]) < cost_tolerance; });
  std::vector<uint8_t> open(rank.size(), 0);
  if (equal || options_.k) {  // exactly round(target * units), or k
    const auto least = static_cast<int64_t>(sites_.size());
    const int64_t count =
        std::max(least, options_.k ? *options_.k : static_cast<int64_t>(std::llround(target_share() * total_cost_ / cost[0])));
    for (size_t i = 0; i < std::min<size_t>(static_cast<size_t>(count), order.size()); ++i) open[order[i]] = 1;
  } else {
    double spent = 0;
    for (const size_t unit : order) {
      if (search_ && rank[unit] <= 0 && reserved[unit] == 0)
        continue;  // closed because of what it is worth, not for want of room
      if (reserved[unit] == 0 && spent + cost[unit] > target_share() * total_cost_ * (1 + cost_tolerance) && spent > 0) continue;
      spent += cost[unit];
      open[unit] = 1;
    }
  }
  std::vector<torch::Tensor> masks;
  size_t offset = 0;
  for (const GateSite* site : sites_) {
    masks.push_back(at::empty({site->gate->units()}, torch::kBool));
    for (int64_t j = 0; j < site->gate->units(); ++j) masks.back()[j] = open[offset++] != 0;
  }
  return masks;
}

void GateControl::start_annealing(const GateState& state) {
  if (search_) search_->start();
  if (options_.logits != LogitKind::fixed) return;
  std::vector<torch::Tensor> ranking, weight;
  for (size_t i = 0; i < sites_.size(); ++i) {
    const Draw draw{plan_.seed, 0, static_cast<int64_t>(i), at::zeros({1}, torch::kInt64)};
    const bool random = options_.static_by == StaticBy::random;
    ranking.push_back(random ? uniform_noise(draw, sites_[i]->gate->units(), torch::kCPU)[0] : scores_[i]);
    weight.push_back(sites_[i]->gate->cost());
  }
  picked_ = true;
  const auto masks = choose(ranking, weight);
  for (size_t i = 0; i < sites_.size(); ++i) {
    HardConcrete gate = sites_[i]->gate;
    gate->force(masks[i].to(gate->logits().device()), state.tau);
  }
}

Hardening GateControl::harden(const GateState& state) {
  torch::NoGradGuard no_grad;
  Hardening result;
  if (options_.logits == LogitKind::fixed && !picked_)
    throw std::logic_error("static logits: harden() needs start_annealing() first");
  const bool project = options_.control != ControlKind::lambda && options_.logits != LogitKind::fixed;
  std::vector<torch::Tensor> ranking, weight, masks;
  GateState step_before = state;  // top-k: units beyond k were closed before
  if (options_.control == ControlKind::top_k) limit(step_before, target_share());
  for (size_t i = 0; i < sites_.size(); ++i) {
    ranking.push_back(sites_[i]->gate->logits());
    const torch::Tensor cost = sites_[i]->gate->cost().to(torch::kCPU, torch::kFloat64);
    const bool instance = project && sites_[i]->gate->has_instance_logits();
    weight.push_back(instance ? cost * competition_->open_share_of_units(i).to(torch::kCPU, torch::kFloat64).clamp_min(1e-3)
                              : cost);
  }
  if (project) {
    masks = choose(ranking, weight);
    result.logit_spread = at::cat(ranking).std(/*unbiased=*/false).item<double>();
    if (annealed_ > late_step()) {
      const std::vector<torch::Tensor> earlier = choose(late_logits_, weight);
      for (size_t i = 0; i < sites_.size(); ++i) result.late_changes += earlier[i].ne(masks[i]).sum().item<int64_t>();
    }
  }
  for (size_t i = 0; i < sites_.size(); ++i) {
    HardConcrete gate = sites_[i]->gate;
    result.units += gate->units();
    if (project) {
      const torch::Tensor before = gate->ever_open(step_before).cpu();
      if (gate->has_instance_logits()) masks[i] &= before;  // units that no example opens cost nothing and stay closed
      result.projected_units += before.ne(masks[i]).sum().item<int64_t>();
      const torch::Tensor open = masks[i].to(gate->logits().device());
      if (search_) gate->logits().copy_(open.to(gate->logits().scalar_type()) * (2 * decided_logit) - decided_logit);
      gate->force(open, state.tau);
    }
    result.open_units += gate->ever_open(state).sum().item<int64_t>();
  }
  // With few units a share of them would be less than one.
  const double allowed = std::max(converged_fraction * static_cast<double>(result.units), converged_units);
  result.converged = static_cast<double>(result.projected_units) <= allowed;
  return result;
}

std::map<std::string, torch::Tensor> GateControl::memory() const {
  std::map<std::string, torch::Tensor> result;
  result["price"] = at::full({1}, price_, torch::kFloat64);
  result["ramp"] = at::full({1}, ramp_, torch::kFloat64);
  result["picked"] = at::full({1}, picked_ ? 1 : 0, torch::kInt64);
  for (size_t i = 0; i < sites_.size(); ++i) {
    result[sites_[i]->name + "/scores"] = scores_[i].clone();
  }
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
  picked_ = memory.at("picked").item<int64_t>() != 0;
  for (size_t i = 0; i < sites_.size(); ++i) {
    scores_[i] = memory.at(sites_[i]->name + "/scores").clone();
  }
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
