#include "gate/gate_target.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/text.h"
#include "gate/unit_choice.h"
#include "l0gm/error.h"

namespace l0gm {

namespace {

constexpr double tolerance = 1e-9;             // targets and limits are quotients of sums
constexpr double nothing_to_close = 1 + 1e-6;  // a model that cannot be faster than that

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
double in_whole_units(const std::vector<const GateSite*>& sites, double share) {
  double least = INFINITY, most = 0;
  for (const GateSite* site : sites) {
    if (site->shared != nullptr) return share;
    least = std::min(least, site->gate->cost().min().item<double>());
    most = std::max(most, site->gate->cost().max().item<double>());
  }
  if (least < most * (1 - 1e-6)) return share;
  const double each = 1 / static_cast<double>(number_of_units(sites));
  return each * std::floor(share / each + 1e-9);
}

// Figures that a message advises are rounded to the side that can be met: the same figure, asked for, is accepted.
std::string rounded_down(double speedup) {
  const auto at = [&](int digits) {
    const double scale = std::pow(10, digits);
    return std::floor(speedup * (1 + tolerance / 2) * scale) / scale;
  };
  int digits = 2;
  while (at(digits) <= 1 && speedup > nothing_to_close) ++digits;  // a speed-up is more than 1
  return fmt::format("{:.{}f}", at(digits), digits);
}

std::string rounded_up(double share) {
  const int digits = std::max(4, 2 - static_cast<int>(std::floor(std::log10(share))));
  const double scale = std::pow(10, digits);
  return fmt::format("{:.{}f}", std::ceil(share * (1 - tolerance / 2) * scale) / scale, digits);
}

double share_for_speedup(const GateOptions& options, const std::vector<const GateSite*>& sites, double besides) {
  const double total = cost_of_all_units(sites), whole = besides + total, least = least_cost_share(sites);
  const double most = whole / (besides + least * total);
  if (*options.target_speedup <= most * (1 + tolerance)) {
    return std::max(least, in_whole_units(sites, (whole / *options.target_speedup - besides) / total));
  }
  throw UserError(fmt::format(
      "gate.target_speedup = {} cannot be met: with one unit of each kind left the model is {} times as fast as the dense one, "
      "by gate.cost = {}. {}",
      *options.target_speedup, rounded_down(most), name_of_enum(options.cost),
      most > nothing_to_close ? "Ask for at most that." : "There is nothing to close; without a gate: gate.unit = none."));
}

// UserError for more units than there are, and for fewer than stay open whatever is asked for.
double share_of_count(const std::vector<const GateSite*>& sites, int64_t k) {
  const int64_t units = number_of_units(sites);
  if (k > units) {
    const auto alike = [&](const GateSite* site) { return site->noun == sites[0]->noun; };
    throw UserError(
        fmt::format("gate.k = {}, and there are {} {}. Ask for at most {}, or for all without a gate: gate.unit = none.", k,
                    units, std::all_of(sites.begin(), sites.end(), alike) ? sites[0]->noun : "units", units));
  }
  if (k < std::ssize(sites)) {
    std::vector<std::string> names;
    for (const GateSite* site : sites) names.push_back(site->name);
    throw UserError(fmt::format(
        "gate.k = {} cannot be met: gates are at {} places ({}), and at each of them one unit stays open. Ask for at least {}.",
        k, sites.size(), list_some(names, 10), sites.size()));
  }
  return static_cast<double>(k) / static_cast<double>(units);
}

}  // namespace

double cost_of_all_units(const std::vector<const GateSite*>& sites) {
  double total = 0;
  for (const GateSite* site : sites) total += site->gate->cost().sum().item<double>();
  return total;
}

double gate_target(const GateOptions& options, const std::vector<const GateSite*>& sites) {
  if (sites.empty()) return options.target_active.value_or(1);
  if (options.k) return share_of_count(sites, *options.k);
  const std::optional<double> besides = cost_besides_units(sites);
  if (options.target_speedup) {
    if (besides) return share_for_speedup(options, sites, *besides);
    throw UserError(
        "gate.target_speedup needs gates on the structure of a text encoder: gate.attach = heads, ffn, layers, or several of "
        "them");
  }
  const double share = options.target_active.value_or(1);
  if (!besides) return share;
  // Where parts of an encoder have their own costs, less than the cheapest part of each kind cannot be had.
  const double least = least_cost_share(sites);
  if (share < least * (1 - tolerance)) {
    throw UserError(fmt::format(
        "gate.target_active = {} cannot be met: one unit of each kind is {} of the cost (gate.cost = {}). Ask for at least "
        "that.",
        share, rounded_up(least), name_of_enum(options.cost)));
  }
  return std::max(share, least);
}

}  // namespace l0gm
