#include "study/stability.h"

#include <cstdint>
#include <limits>

namespace l0gm {

Stability stability_of(const std::vector<std::vector<std::string>>& choices, int64_t inputs) {
  Stability out;
  double chosen = 0;
  for (const std::vector<std::string>& choice : choices) {
    chosen += static_cast<double>(choice.size());
    for (const std::string& name : choice) ++out.times[name];
  }
  out.agreement = std::numeric_limits<double>::quiet_NaN();
  const auto count = static_cast<double>(choices.size()), all = static_cast<double>(inputs);
  if (choices.size() < 2 || inputs < 1) return out;
  const double share = chosen / count / all, by_chance = share * (1 - share);
  if (!(by_chance > 0)) return out;
  double variance = 0;
  for (const auto& [name, times] : out.times) {
    const double often = static_cast<double>(times) / count;
    variance += count / (count - 1) * often * (1 - often) / all;
  }
  out.agreement = 1 - variance / by_chance;
  return out;
}

}  // namespace l0gm
