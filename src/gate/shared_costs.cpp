#include "l0gm/gate_pass.h"

namespace l0gm {

std::vector<double> SharedCosts::spread() const {
  std::vector<double> users(parts.size(), 0), cost = own;
  for (const std::vector<int64_t>& needed : parts_of) {
    for (const int64_t part : needed) users[static_cast<size_t>(part)] += 1;
  }
  for (size_t u = 0; u < cost.size(); ++u) {
    for (const int64_t part : parts_of[u]) cost[u] += parts[static_cast<size_t>(part)] / users[static_cast<size_t>(part)];
  }
  return cost;
}

double SharedCosts::of(const std::vector<double>& open) const {
  std::vector<bool> needed(parts.size(), false);
  double sum = 0;
  for (size_t u = 0; u < own.size(); ++u) {
    if (open[u] <= 0) continue;
    sum += own[u];
    for (const int64_t part : parts_of[u]) needed[static_cast<size_t>(part)] = true;
  }
  for (size_t p = 0; p < parts.size(); ++p) sum += needed[p] ? parts[p] : 0;
  return sum;
}

}  // namespace l0gm
