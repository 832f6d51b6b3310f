#include "gate/unit_choice.h"

#include <ATen/Functions.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "gate/tensor_values.h"

namespace l0gm {

namespace {

constexpr double cost_tolerance = 1e-9;    // costs are sums of rounded shares

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
  // No part ranks above the whole.
  double rank_of(size_t unit) const {
    return is_part(unit) ? std::min(rank[unit], rank[static_cast<size_t>(outer[unit])]) : rank[unit];
  }
  // The best unit of each site; sites of parts: none, or the best part of the best whole.
  std::vector<uint8_t> reserved(bool parts_too) const {
    std::vector<uint8_t> result(size(), 0);
    for (const bool parts : {false, true}) {
      if (parts && !parts_too) break;
      for (size_t i = 0; i + 1 < begin.size(); ++i) {
        if (is_part(begin[i]) != parts) continue;
        std::optional<size_t> best;
        for (size_t u = begin[i]; u < begin[i + 1]; ++u) {
          if (parts && result[static_cast<size_t>(outer[u])] == 0) continue;
          if (!best || rank[u] > rank[*best]) best = u;
        }
        if (best) result[*best] = 1;
      }
    }
    return result;
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

std::vector<uint8_t> open_within(const AllUnits& units, const UnitBudget& budget, bool reserve_parts) {
  const std::vector<uint8_t> reserved = units.reserved(reserve_parts);
  std::vector<size_t> order(units.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {  // equal ranks: wholes before their parts
    if (reserved[a] != reserved[b]) return reserved[a] > reserved[b];
    if (units.rank_of(a) != units.rank_of(b)) return units.rank_of(a) > units.rank_of(b);
    return units.is_part(a) < units.is_part(b);
  });
  const double first = units.cost[0];
  const bool equal =
      std::all_of(units.cost.begin(), units.cost.end(), [&](double c) { return std::abs(c - first) < cost_tolerance; });
  Payments payments(units);
  const bool by_count = (equal && !payments.shares()) || budget.k;
  const auto least = static_cast<int64_t>(units.begin.size()) - 1;
  int64_t count =
      by_count ? std::max(least, budget.k.value_or(static_cast<int64_t>(std::llround(budget.share * budget.total / first)))) : 0;
  const double most = budget.share * budget.total * (1 + (payments.shares() ? shared_cost_tolerance : cost_tolerance));
  std::vector<uint8_t> open(units.size(), 0);
  for (const size_t unit : order) {
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

namespace {

double least_cost(const GateSite& site) {
  if (site.shared == nullptr) return site.gate->cost().min().item<double>();
  std::vector<double> alone = site.shared->own;
  for (size_t u = 0; u < alone.size(); ++u) {
    for (const int64_t part : site.shared->parts_of[u]) alone[u] += site.shared->parts[static_cast<size_t>(part)];
  }
  return *std::min_element(alone.begin(), alone.end());
}

}  // namespace

double least_cost_share(const std::vector<const GateSite*>& sites) {
  double least = 0, total = 0;
  for (const GateSite* site : sites) {
    least += least_cost(*site);
    total += site->gate->cost().sum().item<double>();
  }
  return total > 0 ? least / total : 0;
}

}  // namespace l0gm
