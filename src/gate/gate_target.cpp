#include "gate/gate_target.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "gate/unit_choice.h"
#include "l0gm/error.h"

namespace l0gm {

namespace {

// What the model costs beside its gated units; nothing: no site knows.
std::optional<double> cost_besides_units(const std::vector<const GateSite*>& sites) {
  std::optional<double> besides;
  for (const GateSite* site : sites) {
    if (site->cost_besides) besides = besides.value_or(0) + *site->cost_besides;
  }
  return besides;
}

int64_t number_of_units(const std::vector<const GateSite*>& sites) {
  int64_t units = 0;
  for (const GateSite* site : sites) units += site->gate->units();
  return units;
}

// Units that all cost the same: the share is rounded down to whole units, never less speed than was asked for.
double in_whole_units(const std::vector<const GateSite*>& sites, double share, double least) {
  const auto shares = [](const GateSite* site) { return site->shared != nullptr; };
  const double each = 1 / static_cast<double>(number_of_units(sites));
  const bool equal = least > each * static_cast<double>(sites.size()) * (1 - 1e-6);
  if (!equal || std::any_of(sites.begin(), sites.end(), shares)) return share;
  return each * std::floor(share / each + 1e-9);
}

double share_for_speedup(const GateOptions& options, const std::vector<const GateSite*>& sites, double besides) {
  const double total = cost_of_all_units(sites), whole = besides + total, least = least_cost_share(sites);
  const double share = in_whole_units(sites, (whole / *options.target_speedup - besides) / total, least);
  if (share >= least * (1 - 1e-9)) return share;
  throw UserError(fmt::format(
      "gate.target_speedup = {} cannot be met: with one unit of each kind left the model is {:.2f} times as fast as "
      "the dense one, by gate.cost = {}. Ask for at most that.",
      *options.target_speedup, whole / (besides + least * total), name_of_enum(options.cost)));
}

}  // namespace

double cost_of_all_units(const std::vector<const GateSite*>& sites) {
  double total = 0;
  for (const GateSite* site : sites) total += site->gate->cost().sum().item<double>();
  return total;
}

double gate_target(const GateOptions& options, const std::vector<const GateSite*>& sites) {
  if (sites.empty()) return options.target_active.value_or(1);
  if (options.k) {
    const int64_t units = number_of_units(sites);
    if (*options.k > units) {
      const bool one_kind = std::all_of(sites.begin(), sites.end(), [&](const GateSite* s) { return s->noun == sites[0]->noun; });
      throw UserError(fmt::format(
          "gate.k = {}, and there are {} {}. Ask for at most {}, or for all without a gate: gate.unit = none.", *options.k, units,
          one_kind ? sites[0]->noun : "units", units));
    }
    return static_cast<double>(*options.k) / static_cast<double>(units);
  }
  const std::optional<double> besides = cost_besides_units(sites);
  if (options.target_speedup) {
    if (besides) return share_for_speedup(options, sites, *besides);
    throw UserError(
        "gate.target_speedup needs gates on the structure of a text encoder: gate.attach = heads, ffn, layers, or several of "
        "them");
  }
  const double share = options.target_active.value_or(1);
  // Where parts of an encoder have their own costs, less than the cheapest part of each kind cannot be had.
  if (const double least = besides ? least_cost_share(sites) : 0; share < least) {
    throw UserError(fmt::format(
        "gate.target_active = {} cannot be met: one unit of each kind is {:.4f} of the cost (gate.cost = {}). Ask for "
        "at least that.",
        share, least, name_of_enum(options.cost)));
  }
  return share;
}

}  // namespace l0gm
