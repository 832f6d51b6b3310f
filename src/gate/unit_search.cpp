#include "gate/unit_search.h"

#include <ATen/Functions.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "gate/tensor_values.h"

namespace l0gm {

namespace {

constexpr int64_t looks = 32;                                    // while annealing, at most
constexpr double close_from = 0.15, close_until = 0.8;           // of annealing: units are closed in between
constexpr double closed_at_once = 0.1;                           // of the open units; what says the same could go together
constexpr double strays = 1;                                     // units that training closes, and opens, in each example
constexpr double most_strays = 0.25, most_closed_strays = 0.08;  // of one unit's examples
constexpr double certain_logit = 100;
constexpr double rank_spread = 0.5;  // between the logits of the most and the least worthy open unit
constexpr size_t tried_openings = 3, tried_closings = 8;
constexpr int most_exchanges = 3;  // in one look
constexpr double tolerance = 1e-9;

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(std::max<size_t>(1, values.size()));
}

// The logit at which a gate is open with this probability, at the search's temperature.
double logit_of(double open_probability, const GateOptions& options) {
  return std::log(open_probability / (1 - open_probability)) + UnitSearch::tau * std::log(-options.gamma / options.zeta);
}

template <class Mask>
Mask changed(Mask mask, size_t unit) {
  mask[unit] = mask[unit] == 0;
  return mask;
}

}  // namespace

UnitSearch::UnitSearch(std::vector<const GateSite*> sites, double share, bool by_count) : sites_(std::move(sites)) {
  for (size_t i = 0; i < sites_.size(); ++i) {
    const std::vector<double> cost = to_doubles(sites_[i]->gate->cost());
    for (const double c : cost) cost_.push_back(by_count ? 1 : c);
    site_of_.insert(site_of_.end(), cost.size(), i);
  }
  total_ = std::accumulate(cost_.begin(), cost_.end(), 0.0);
  const bool equal = std::all_of(cost_.begin(), cost_.end(), [&](double c) { return std::abs(c - cost_[0]) < tolerance; });
  target_ = equal ? cost_[0] * std::max<double>(std::round(share * total_ / cost_[0]), static_cast<double>(sites_.size()))
                  : share * total_;
  exchanges_.assign(cost_.size(), {});
}

int64_t UnitSearch::measurements() const {
  const double units = static_cast<double>(cost_.size()), kept = units * target_ / total_;
  const double closing_looks = std::min((close_until - close_from) * looks, units - kept);
  return std::llround(closing_looks * (kept + (units - kept) / 3) + (1 - close_until) * looks * (units + 30) + 1);
}

bool UnitSearch::is_due(int64_t step, int64_t steps) const { return step % ((steps + looks - 1) / looks) == 0; }

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
  for (size_t u = 0; u < open.size(); ++u) sum += open[u] != 0 ? cost_[u] : 0;
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

namespace {

template <class Difference>
Difference difference_of(const std::vector<double>& changed, const std::vector<double>& as_is) {
  std::vector<double> rises(as_is.size());
  for (size_t i = 0; i < as_is.size(); ++i) rises[i] = changed[i] - as_is[i];
  const double rise = mean(rises), count = static_cast<double>(std::max<size_t>(2, rises.size()));
  double squares = 0;
  for (const double r : rises) squares += (r - rise) * (r - rise);
  return {rise, std::sqrt(squares / (count - 1) / count)};
}

}  // namespace

std::vector<UnitSearch::Worth> UnitSearch::closing(const Mask& open, const std::vector<double>& as_is,
                                                   const UnitLosses& losses) const {
  std::vector<Worth> order;
  for (size_t u = 0; u < open.size(); ++u) {
    if (open[u] == 0 || !may_close(open, u)) continue;
    order.push_back({u, difference_of<Difference>(measured(changed(open, u), losses), as_is)});
  }
  std::stable_sort(order.begin(), order.end(), [&](const Worth& a, const Worth& b) {
    return a.difference.rise / cost_[a.unit] < b.difference.rise / cost_[b.unit];
  });
  return order;
}

std::vector<UnitSearch::Worth> UnitSearch::opening(const Mask& open, const std::vector<double>& as_is,
                                                   const UnitLosses& losses) const {
  std::vector<Worth> order;
  for (size_t u = 0; u < open.size(); ++u) {
    if (open[u] == 0) order.push_back({u, difference_of<Difference>(measured(changed(open, u), losses), as_is)});
  }
  std::stable_sort(order.begin(), order.end(),
                   [](const Worth& a, const Worth& b) { return a.difference.rise < b.difference.rise; });
  return order;
}

void UnitSearch::close_least(Mask& open, const std::vector<Worth>& order, double allowed) {
  const auto most = std::max<int64_t>(1, std::llround(closed_at_once * static_cast<double>(order.size())));
  int64_t closed = 0;
  for (const Worth& least : order) {
    if (closed == most || cost_of(open) <= allowed + tolerance) return;
    if (!may_close(open, least.unit)) continue;
    open[least.unit] = 0;
    price_ = least.difference.rise / cost_[least.unit];
    ++closed;
  }
}

bool UnitSearch::exchange(Mask& open, std::vector<double>& as_is, const std::vector<Worth>& order, double allowed,
                          const UnitLosses& losses) {
  const std::vector<Worth> candidates = opening(open, as_is, losses);
  const double spent = cost_of(open);
  exchanges_.assign(cost_.size(), {});
  Exchange best;
  for (size_t i = 0; i < std::min(order.size(), tried_closings); ++i) {
    const size_t from = order[i].unit;
    Exchange& of_unit = exchanges_[from];
    size_t tried = 0;
    for (const Worth& candidate : candidates) {
      if (tried == tried_openings) break;
      const size_t to = candidate.unit;
      if (spent - cost_[from] + cost_[to] > allowed + tolerance || (site_of_[from] != site_of_[to] && !may_close(open, from)))
        continue;
      ++tried;
      const auto found = difference_of<Difference>(measured(changed(changed(open, from), to), losses), as_is);
      if (of_unit.closed < 0 || found.rise < of_unit.rise)
        of_unit = {static_cast<int64_t>(from), static_cast<int64_t>(to), found.rise, found.error};
    }
    if (of_unit.closed >= 0 && (best.closed < 0 || of_unit.rise < best.rise)) best = of_unit;
  }
  if (best.closed < 0 || best.rise >= -best.error) return false;
  open = changed(changed(open, static_cast<size_t>(best.open)), static_cast<size_t>(best.closed));
  as_is = measured(open, losses);
  return true;
}

void UnitSearch::start() { set_logits(Mask(cost_.size(), 1), {}); }

void UnitSearch::look(double progress, const UnitLosses& losses) {
  Mask open = open_units();
  const double allowed = allowed_cost(progress);
  if (progress < close_until && cost_of(open) <= allowed + tolerance) return;
  std::vector<double> as_is = measured(open, losses);
  std::vector<Worth> order = closing(open, as_is, losses);
  const auto look_again = [&] {
    as_is = measured(open, losses);
    order = closing(open, as_is, losses);
  };
  while (cost_of(open) > allowed + tolerance && !order.empty()) {
    close_least(open, order, allowed);
    if (cost_of(open) > allowed + tolerance || progress >= close_until) look_again();
  }
  if (progress >= close_until) {
    for (int i = 0; i < most_exchanges && exchange(open, as_is, order, allowed, losses); ++i)
      order = closing(open, as_is, losses);
  }
  set_logits(open, order);
}

// The order of the logits is that of the units' worth, for whoever ends training here.
void UnitSearch::set_logits(const Mask& open, const std::vector<Worth>& order) {
  torch::NoGradGuard no_grad;
  const auto count = static_cast<double>(std::count(open.begin(), open.end(), 1)),
             rest = static_cast<double>(open.size()) - count;
  const GateOptions& options = sites_[0]->gate->options();
  const double open_logit = logit_of(1 - std::min(most_strays, strays / count), options);
  const double closed_logit = logit_of(std::min(most_closed_strays, strays / std::max(1.0, rest)), options);
  std::vector<double> logits(open.size());
  for (size_t u = 0; u < open.size(); ++u) logits[u] = open[u] != 0 ? open_logit + rank_spread : closed_logit;
  for (size_t i = 0; i < order.size(); ++i) {
    const size_t u = order[i].unit;
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
  for (int64_t i = 0; i < 4; ++i) values[static_cast<int64_t>(exchanges_.size())][i] = price_;
  return memory;
}

void UnitSearch::restore(const torch::Tensor& memory) {
  const auto values = memory.accessor<double, 2>();
  for (size_t u = 0; u < exchanges_.size(); ++u) {
    const auto row = static_cast<int64_t>(u);
    exchanges_[u] = {std::llround(values[row][0]), std::llround(values[row][1]), values[row][2], values[row][3]};
  }
  price_ = values[static_cast<int64_t>(exchanges_.size())][0];
}

}  // namespace l0gm
