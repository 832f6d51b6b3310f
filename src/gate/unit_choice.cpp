#include "gate/unit_choice.h"

#include <ATen/Functions.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>

#include "gate/tensor_values.h"

namespace l0gm {

namespace {

constexpr double cost_tolerance = 1e-9;  // costs are sums of rounded shares

// The units of all sites, one site after the other, those that others are parts of before these.
struct AllUnits {
  std::vector<double> rank, cost;
  std::vector<size_t> begin;               // of each site; one more: the end
  std::vector<int64_t> outer;              // the unit that each one is a part of; -1: none
  std::vector<const SharedCosts*> shared;  // of each site; nullptr: its units share nothing
  size_t size() const { return rank.size(); }
  bool is_part(size_t unit) const { return outer[unit] >= 0; }

  AllUnits(const std::vector<const GateSite*>& sites, const std::vector<torch::Tensor>& ranking,
           const std::vector<torch::Tensor>& costs)
      : begin{0} {
    for (size_t i = 0; i < sites.size(); ++i) {
      const auto r = to_doubles(ranking[i]), c = to_doubles(costs[i]);
      rank.insert(rank.end(), r.begin(), r.end());
      cost.insert(cost.end(), c.begin(), c.end());
      begin.push_back(rank.size());
      shared.push_back(sites[i]->shared.get());
    }
    outer.assign(size(), -1);
    for (size_t i = 0; i < sites.size(); ++i) {
      const auto found = std::find(sites.begin(), sites.end(), sites[i]->outer);
      if (sites[i]->outer == nullptr || found == sites.end()) continue;
      const auto first = static_cast<int64_t>(begin[static_cast<size_t>(found - sites.begin())]);
      for (size_t u = begin[i]; u < begin[i + 1]; ++u)
        outer[u] = first + sites[i]->outer_unit[static_cast<int64_t>(u - begin[i])].item<int64_t>();
    }
  }

  bool all_sites_have(const std::vector<uint8_t>& open) const {
    for (size_t i = 0; i + 1 < begin.size(); ++i) {
      const auto first = open.begin() + static_cast<ptrdiff_t>(begin[i]),
                 last = open.begin() + static_cast<ptrdiff_t>(begin[i + 1]);
      if (std::find(first, last, 1) == last) return false;
    }
    return true;
  }
  bool has_parts(size_t site) const { return is_part(begin[site]); }
  // No part ranks above the whole.
  double rank_of(size_t unit) const {
    return is_part(unit) ? std::min(rank[unit], rank[static_cast<size_t>(outer[unit])]) : rank[unit];
  }
};

// What one more open unit costs, after those that were paid for.
class Payments {
 public:
  explicit Payments(const AllUnits& units) : units_(units) {
    for (const SharedCosts* shared : units.shared) paid_.emplace_back(shared != nullptr ? shared->parts.size() : 0, false);
  }
  bool shares() const {
    return std::any_of(units_.shared.begin(), units_.shared.end(), [](const SharedCosts* shared) { return shared != nullptr; });
  }
  double cost_of(size_t unit) const {
    const size_t site = site_of(unit), place = unit - units_.begin[site];
    const SharedCosts* shared = units_.shared[site];
    if (shared == nullptr) return units_.cost[unit];
    double cost = shared->own[place];
    for (const int64_t part : shared->parts_of[place]) {
      if (!paid_[site][static_cast<size_t>(part)]) cost += shared->parts[static_cast<size_t>(part)];
    }
    return cost;
  }
  void pay(size_t unit) {
    const size_t site = site_of(unit), place = unit - units_.begin[site];
    spent_ += cost_of(unit);
    if (units_.shared[site] == nullptr) return;
    for (const int64_t part : units_.shared[site]->parts_of[place]) paid_[site][static_cast<size_t>(part)] = true;
  }
  double spent() const { return spent_; }

 private:
  size_t site_of(size_t unit) const {
    return static_cast<size_t>(std::upper_bound(units_.begin.begin(), units_.begin.end(), unit) - units_.begin.begin()) - 1;
  }
  const AllUnits& units_;
  std::vector<std::vector<bool>> paid_;  // per site and part
  double spent_ = 0;
};

// The unit of each site that is opened before all others.
class FirstUnits {
 public:
  explicit FirstUnits(const AllUnits& units) : units_(units) {
    const Payments nothing_paid(units);
    for (size_t u = 0; u < units.size(); ++u) extra_.push_back(nothing_paid.cost_of(u));
    for (const bool parts : {true, false}) {  // a whole comes with the cheapest of its parts
      for (size_t i = 0; i + 1 < units.begin.size(); ++i) {
        if (units.has_parts(i) == parts) take_off_cheapest(i);
      }
    }
  }
  // What the cheapest units of all sites cost together.
  double least() const { return least_; }
  // The best of each site that leave enough for the cheapest of the other sites, so that a budget that least() does not pass
  // is kept; where none leaves enough, the best. Sites of parts: none, or the best such part of the whole that was chosen.
  std::vector<uint8_t> chosen(double budget, bool parts_too) const {
    std::vector<uint8_t> result(units_.size(), 0);
    double left = budget - least_;
    for (const bool parts : {false, true}) {
      if (parts && !parts_too) break;
      for (size_t i = 0; i + 1 < units_.begin.size(); ++i) {
        if (units_.has_parts(i) != parts) continue;
        const std::optional<size_t> best = best_of(i, left, result);
        if (!best) continue;
        result[*best] = 1;
        left -= extra_[*best];
      }
    }
    return result;
  }

 private:
  void take_off_cheapest(size_t site) {
    std::map<int64_t, double> cheapest;  // of each whole; -1: of all
    for (size_t u = units_.begin[site]; u < units_.begin[site + 1]; ++u) {
      double& least = cheapest.try_emplace(units_.outer[u], extra_[u]).first->second;
      least = std::min(least, extra_[u]);
    }
    for (size_t u = units_.begin[site]; u < units_.begin[site + 1]; ++u) extra_[u] -= cheapest[units_.outer[u]];
    for (const auto& [whole, cost] : cheapest) (whole < 0 ? least_ : extra_[static_cast<size_t>(whole)]) += cost;
  }
  std::optional<size_t> best_of(size_t site, double left, const std::vector<uint8_t>& wholes) const {
    std::optional<size_t> best;
    const auto is_better = [&](size_t a, size_t b) {
      const bool fits = extra_[a] <= left, other_fits = extra_[b] <= left;
      return fits != other_fits ? fits : units_.rank[a] > units_.rank[b];
    };
    for (size_t u = units_.begin[site]; u < units_.begin[site + 1]; ++u) {
      if (units_.is_part(u) && wholes[static_cast<size_t>(units_.outer[u])] == 0) continue;
      if (!best || is_better(u, *best)) best = u;
    }
    return best;
  }
  const AllUnits& units_;
  std::vector<double> extra_;  // of each unit: its cost beyond the cheapest of its site; a part's: of its whole
  double least_ = 0;
};

// Units in the order in which they are opened.
std::vector<size_t> order_of(const AllUnits& units, const std::vector<uint8_t>& reserved) {
  std::vector<size_t> order(units.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {  // equal ranks: wholes before their parts
    if (reserved[a] != reserved[b]) return reserved[a] > reserved[b];
    if (units.rank_of(a) != units.rank_of(b)) return units.rank_of(a) > units.rank_of(b);
    return units.is_part(a) < units.is_part(b);
  });
  return order;
}

std::vector<uint8_t> open_within(const AllUnits& units, const UnitBudget& budget, bool reserve_parts) {
  const double first = units.cost[0];
  const bool equal =
      std::all_of(units.cost.begin(), units.cost.end(), [&](double c) { return std::abs(c - first) < cost_tolerance; });
  Payments payments(units);
  const bool by_count = (equal && !payments.shares()) || budget.k;
  const auto least = static_cast<int64_t>(units.begin.size()) - 1;
  int64_t count = budget.k.value_or(std::max<int64_t>(least, by_count ? std::llround(budget.share * budget.total / first) : 0));
  const double most = budget.share * budget.total * (1 + (payments.shares() ? shared_cost_tolerance : cost_tolerance));
  const std::vector<uint8_t> reserved =
      FirstUnits(units).chosen(by_count ? std::numeric_limits<double>::infinity() : most, reserve_parts);
  std::vector<uint8_t> open(units.size(), 0);
  for (const size_t unit : order_of(units, reserved)) {
    if (units.is_part(unit) && open[static_cast<size_t>(units.outer[unit])] == 0) continue;
    if (!by_count && budget.above && units.rank[unit] <= *budget.above && reserved[unit] == 0) continue;
    const bool fits = by_count ? count > 0 : payments.spent() + payments.cost_of(unit) <= most;
    if (!fits && (by_count || (reserved[unit] == 0 && payments.spent() > 0))) continue;
    --count;
    payments.pay(unit);
    open[unit] = 1;
  }
  return open;
}

}  // namespace

std::vector<torch::Tensor> choose_units(const std::vector<const GateSite*>& sites, const std::vector<torch::Tensor>& ranking,
                                        const std::vector<torch::Tensor>& cost, const UnitBudget& budget) {
  const AllUnits units(sites, ranking, cost);
  std::vector<uint8_t> open = open_within(units, budget, false);
  if (!units.all_sites_have(open)) open = open_within(units, budget, true);
  std::vector<torch::Tensor> masks;
  for (size_t i = 0; i < sites.size(); ++i) {
    masks.push_back(at::empty({sites[i]->gate->units()}, torch::kBool));
    auto* const mask = masks.back().data_ptr<bool>();
    for (size_t u = units.begin[i]; u < units.begin[i + 1]; ++u) mask[u - units.begin[i]] = open[u] != 0;
  }
  return masks;
}

double least_cost_share(const std::vector<const GateSite*>& sites) {
  std::vector<torch::Tensor> costs;
  double total = 0;
  for (const GateSite* site : sites) {
    costs.push_back(site->gate->cost());
    total += site->gate->cost().sum().item<double>();
  }
  return total > 0 ? FirstUnits(AllUnits(sites, /*ranking=*/costs, costs)).least() / total : 0;
}

}  // namespace l0gm
