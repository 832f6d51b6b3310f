#include "gate/unit_search.h"

#include <ATen/Functions.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "gate/tensor_values.h"
#include "gate/unit_choice.h"

namespace l0gm {

namespace {

constexpr int64_t looks = 32;                                    // at most
constexpr double close_from = 0.5, close_until = 0.85;           // of annealing: units are closed in between
constexpr double closed_at_once = 0.1;                           // of the open units; what says the same could go together
constexpr double strays = 1;                                     // units that training closes, and opens, in each example
constexpr double most_strays = 0.25, most_closed_strays = 0.08;  // of one unit's examples
constexpr double certain_logit = 100;
constexpr double rank_spread = 0.5;  // between the logits of the most and the least worthy open unit
constexpr size_t tried_openings = 3, tried_closings = 8;
constexpr int most_exchanges = 3;  // in one look
constexpr double sure = 2;         // standard errors by which an exchange must lower the loss of examples that did not choose it
constexpr double tolerance = 1e-9;
constexpr double not_asked = 0, asked = 1, taken = 2;  // as it is kept

// The logit at which a gate is open with this probability, at the search's temperature.
double logit_of(double open_probability, const GateOptions& options) {
  return std::log(open_probability / (1 - open_probability)) + UnitSearch::tau * std::log(-options.gamma / options.zeta);
}

}  // namespace

UnitSearch::UnitSearch(std::vector<const GateSite*> sites, double share, bool by_count)
    : sites_(std::move(sites)), by_count_(by_count) {
  for (size_t i = 0; i < sites_.size(); ++i) {
    const std::vector<double> cost = to_doubles(sites_[i]->gate->cost());
    for (const double c : cost) cost_.push_back(by_count ? 1 : c);
    site_of_.insert(site_of_.end(), cost.size(), i);
    shares_costs_ = shares_costs_ || (sites_[i]->shared != nullptr && !by_count);
  }
  total_ = std::accumulate(cost_.begin(), cost_.end(), 0.0);
  const bool equal = std::all_of(cost_.begin(), cost_.end(), [&](double c) { return std::abs(c - cost_[0]) < tolerance; });
  by_number_ = equal && !shares_costs_;
  target_ = by_number_ ? cost_[0] * std::max<double>(std::round(share * total_ / cost_[0]), static_cast<double>(sites_.size()))
                       : share * total_;
  exchanges_.assign(cost_.size(), {});
}

double UnitSearch::slack() const { return shares_costs_ ? target_ * shared_cost_tolerance : tolerance; }

int64_t UnitSearch::measurements() const {
  const double units = static_cast<double>(cost_.size()), kept = units * target_ / total_;
  const double closing = (close_until - close_from) / (1 - close_from);
  return std::llround(std::min(closing * looks, units - kept) * (kept + (units - kept) / 3) +
                      (1 - closing) * looks * (units + 30) + 1);
}

// Weights must have learned what units tell together before single ones are judged: the first half passes without a look.
bool UnitSearch::is_due(int64_t step, int64_t steps) const {
  const auto between = static_cast<int64_t>(std::ceil((1 - close_from) * static_cast<double>(steps) / looks));
  return static_cast<double>(step) >= close_from * static_cast<double>(steps) && step % between == 0;
}

double UnitSearch::allowed_cost(double progress) const {
  const double rest = 1 - std::clamp((progress - close_from) / (close_until - close_from), 0.0, 1.0);
  return target_ + (total_ - target_) * rest * rest;
}

UnitSearch::Mask UnitSearch::open_units() const {
  Mask open;
  for (const GateSite* site : sites_) {
    for (const double logit : to_doubles(site->gate->logits())) open.push_back(logit > 0 ? 1 : 0);
  }
  return open;
}

double UnitSearch::cost_of(const Mask& open) const {
  double sum = 0;
  size_t begin = 0;
  for (const GateSite* site : sites_) {
    const size_t end = begin + static_cast<size_t>(site->gate->units());
    if (site->shared != nullptr && !by_count_) {
      sum += site->shared->of({open.begin() + static_cast<ptrdiff_t>(begin), open.begin() + static_cast<ptrdiff_t>(end)});
    } else {
      for (size_t u = begin; u < end; ++u) sum += open[u] != 0 ? cost_[u] : 0;
    }
    begin = end;
  }
  return sum;
}

bool UnitSearch::may_close(const Mask& open, size_t unit) const {
  for (size_t u = 0; u < open.size(); ++u) {
    if (u != unit && open[u] != 0 && site_of_[u] == site_of_[unit]) return true;
  }
  return false;
}

std::vector<double> UnitSearch::measured(const Mask& open, const UnitLosses& losses) const {
  torch::NoGradGuard no_grad;
  size_t unit = 0;
  for (const GateSite* site : sites_) {
    HardConcrete gate = site->gate;
    std::vector<double> logits;
    for (int64_t j = 0; j < gate->units(); ++j) logits.push_back(open[unit++] != 0 ? certain_logit : -certain_logit);
    gate->logits().copy_(at::tensor(logits, torch::kFloat64));
  }
  return losses();
}

std::vector<UnitSearch::Trial> UnitSearch::tried(const Mask& open, const std::vector<std::vector<size_t>>& changes,
                                                 const UnitLosses& losses) const {
  const std::vector<double> as_is = measured(open, losses);
  const auto count = static_cast<double>(as_is.size());
  std::vector<Trial> trials;
  for (const std::vector<size_t>& units : changes) {
    Mask mask = open;
    for (const size_t unit : units) mask[unit] = mask[unit] == 0;
    const std::vector<double> changed = measured(mask, losses);
    Trial trial{units};
    for (size_t i = 0; i < as_is.size(); ++i) {
      const double rise = changed[i] - as_is[i];
      trial.rise += rise / count;
      (i % 2 == 0 ? trial.rise_even : trial.rise_odd) +=
          rise / (i % 2 == 0 ? std::ceil(count / 2) : std::max(1.0, std::floor(count / 2)));
    }
    const double odd = std::max(1.0, std::floor(count / 2));
    double squares = 0;
    for (size_t i = 1; i < as_is.size(); i += 2) squares += std::pow(changed[i] - as_is[i] - trial.rise_odd, 2);
    trial.error_odd = std::sqrt(squares / std::max(1.0, odd - 1) / odd);
    trial.cost = shares_costs_ && units.size() == 1 ? std::abs(cost_of(mask) - cost_of(open)) : cost_[units[0]];
    trials.push_back(std::move(trial));
  }
  std::stable_sort(trials.begin(), trials.end(),
                   [&](const Trial& a, const Trial& b) { return a.rise / a.cost < b.rise / b.cost; });
  return trials;
}

std::vector<UnitSearch::Trial> UnitSearch::closing(const Mask& open, const UnitLosses& losses) const {
  std::vector<std::vector<size_t>> changes;
  for (size_t u = 0; u < open.size(); ++u) {
    if (open[u] != 0 && may_close(open, u)) changes.push_back({u});
  }
  return tried(open, changes, losses);
}

void UnitSearch::close_least(Mask& open, const std::vector<Trial>& order, double allowed) {
  const auto most = std::max<int64_t>(1, std::llround(closed_at_once * static_cast<double>(order.size())));
  int64_t closed = 0;
  for (const Trial& least : order) {
    const size_t unit = least.units[0];
    if (closed == most || cost_of(open) <= allowed + slack()) return;
    if (!may_close(open, unit)) continue;
    open[unit] = 0;
    price_ = least.rise / least.cost;
    ++closed;
  }
}

bool UnitSearch::exchange(Mask& open, const std::vector<Trial>& order, double allowed, bool only_measure,
                          const UnitLosses& losses) {
  std::vector<std::vector<size_t>> openings, pairs;
  for (size_t u = 0; u < open.size(); ++u) {
    if (open[u] == 0) openings.push_back({u});
  }
  std::vector<Trial> candidates = tried(open, openings, losses);
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const Trial& a, const Trial& b) { return a.rise_even < b.rise_even; });
  const auto cost_with = [&](size_t from, size_t to) {
    Mask changed = open;
    changed[from] = 0;
    changed[to] = 1;
    return cost_of(changed);
  };
  for (size_t i = 0; i < std::min(order.size(), tried_closings); ++i) {
    const size_t from = order[i].units[0];
    size_t found = 0;
    for (size_t c = 0; c < candidates.size() && found < tried_openings; ++c) {
      const size_t to = candidates[c].units[0];
      if (cost_with(from, to) > allowed + slack()) continue;
      pairs.push_back({from, to});
      ++found;
    }
  }
  exchanges_.assign(cost_.size(), {});
  std::map<size_t, double> nearest;  // of each open unit, the exchange that costs least
  const std::vector<Trial> trials = tried(open, pairs, losses);
  for (const Trial& trial : trials) {
    Exchange& of_unit = exchanges_[trial.units[0]];
    if (const auto found = nearest.find(trial.units[0]); found != nearest.end() && found->second <= trial.rise_even) continue;
    nearest[trial.units[0]] = trial.rise_even;
    of_unit = {static_cast<int64_t>(trial.units[0]), static_cast<int64_t>(trial.units[1]), trial.rise_odd, trial.error_odd};
  }
  const auto best =
      std::min_element(trials.begin(), trials.end(), [](const Trial& a, const Trial& b) { return a.rise_even < b.rise_even; });
  if (only_measure || best == trials.end() || best->rise_odd >= -sure * best->error_odd) return false;
  open[best->units[0]] = 0;
  open[best->units[1]] = 1;
  return true;
}

void UnitSearch::start() { set_logits(Mask(cost_.size(), 1), {}); }

bool UnitSearch::take_better(Mask& open, const BetterUnits& better) {
  if (asked_better_ || !better || !by_number_) return false;
  asked_better_ = true;
  const std::optional<Mask> found = better(open);
  if (!found || *found == open) return false;
  open = *found;
  return took_better_ = true;
}

void UnitSearch::look(double progress, const UnitLosses& losses, const BetterUnits& better) {
  Mask open = open_units();
  const double allowed = allowed_cost(progress);
  const auto too_much = [&] { return cost_of(open) > allowed + slack(); };
  if (progress < close_until && !too_much()) return;
  std::vector<Trial> order = closing(open, losses);
  while (too_much() && !order.empty()) {
    close_least(open, order, allowed);
    if (too_much() || progress >= close_until) order = closing(open, losses);
  }
  if (progress >= close_until) {
    if (take_better(open, better)) order = closing(open, losses);
    // One time more than units may change places: what was measured is of the units that stay. Weights that have not learned to
    // do with a better set would give it up again.
    const int most = took_better_ ? 0 : most_exchanges;
    for (int i = 0; exchange(open, order, allowed, i == most, losses); ++i) order = closing(open, losses);
  }
  set_logits(open, order);
}

// The order of the logits is that of the units' worth, for whoever ends training here.
void UnitSearch::set_logits(const Mask& open, const std::vector<Trial>& order) {
  torch::NoGradGuard no_grad;
  const auto count = static_cast<double>(std::count(open.begin(), open.end(), 1)),
             rest = static_cast<double>(open.size()) - count;
  const GateOptions& options = sites_[0]->gate->options();
  const double open_logit = logit_of(1 - std::min(most_strays, strays / count), options);
  const double closed_logit = logit_of(std::min(most_closed_strays, strays / std::max(1.0, rest)), options);
  std::vector<double> logits(open.size());
  for (size_t u = 0; u < open.size(); ++u) logits[u] = open[u] != 0 ? open_logit + rank_spread : closed_logit;
  for (size_t i = 0; i < order.size(); ++i) {
    const size_t u = order[i].units[0];
    if (open[u] != 0) logits[u] = open_logit + rank_spread * static_cast<double>(i) / static_cast<double>(order.size());
  }
  size_t begin = 0;
  for (const GateSite* site : sites_) {
    HardConcrete gate = site->gate;
    const auto first = logits.begin() + static_cast<ptrdiff_t>(begin);
    const std::vector<double> own(first, first + gate->units());
    gate->logits().copy_(at::tensor(own, torch::kFloat64));
    begin += own.size();
  }
}

torch::Tensor UnitSearch::memory() const {
  torch::Tensor memory = at::empty({static_cast<int64_t>(exchanges_.size()) + 1, 4}, torch::kFloat64);
  auto values = memory.accessor<double, 2>();
  for (size_t u = 0; u < exchanges_.size(); ++u) {
    const Exchange& e = exchanges_[u];
    const auto row = static_cast<int64_t>(u);
    values[row][0] = static_cast<double>(e.open);
    values[row][1] = static_cast<double>(e.closed);
    values[row][2] = e.rise;
    values[row][3] = e.error;
  }
  const auto last = static_cast<int64_t>(exchanges_.size());
  for (int64_t i = 0; i < 3; ++i) values[last][i] = price_;
  values[last][3] = took_better_ ? taken : asked_better_ ? asked : not_asked;
  return memory;
}

void UnitSearch::restore(const torch::Tensor& memory) {
  const auto values = memory.accessor<double, 2>();
  for (size_t u = 0; u < exchanges_.size(); ++u) {
    const auto row = static_cast<int64_t>(u);
    exchanges_[u] = {std::llround(values[row][0]), std::llround(values[row][1]), values[row][2], values[row][3]};
  }
  const auto last = static_cast<int64_t>(exchanges_.size());
  price_ = values[last][0];
  took_better_ = values[last][3] == taken;
  asked_better_ = took_better_ || values[last][3] == asked;
}

}  // namespace l0gm
