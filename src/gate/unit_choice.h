#pragma once

#include <optional>
#include <vector>

#include "l0gm/gate_pass.h"

namespace l0gm {

// By which share a set of units may pass its budget where units share costs: a gate keeps their shares in single precision.
inline constexpr double shared_cost_tolerance = 1e-6;

// How much may stay open: a share of a total cost, or k units.
struct UnitBudget {
  double share = 1, total = 0;
  std::optional<int64_t> k;
  std::optional<double> above;  // units of unequal cost: those that rank no higher stay closed although there is room
};

// Opens units over all sites by falling rank (ties by order) while the sum of their costs stays within the budget; equal costs:
// exactly round(share * units). One unit of each site comes before all others, since a site without an open unit would open
// one beyond the budget: the best one with which the budget can be kept, if there is one. What units share (GateSite::shared)
// is paid with the first of them. A part of another unit (GateSite::outer) ranks no higher than the whole and is closed where
// that is; what it would have cost is left to others. The result, like `ranking` and `cost`, has a tensor for each site:
// bool [units], on the CPU.
std::vector<torch::Tensor> choose_units(const std::vector<const GateSite*>& sites, const std::vector<torch::Tensor>& ranking,
                                        const std::vector<torch::Tensor>& cost, const UnitBudget& budget);

// The share of the cost of all units that the cheapest one of each site has, parts inside a whole that is one of them: no
// choice can have less, and a budget that is no less is kept.
double least_cost_share(const std::vector<const GateSite*>& sites);

}  // namespace l0gm
