#include "data/perturbation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"

namespace l0gm {

// FNV-1a; mix_key does the mixing.
uint64_t perturbation_key(std::string_view text) {
  uint64_t hash = 0xCBF29CE484222325U;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3U;
  return hash;
}

double nearest_level(double low, double high, double value, double bits) {
  if (!(low < high)) return low;
  const double steps = std::exp2(bits) - 1, inside = std::clamp(value, low, high);
  // Halves keep the difference of two huge numbers finite.
  const double position = (inside * 0.5 - low * 0.5) / (high * 0.5 - low * 0.5);
  return std::lerp(low, high, std::nearbyint(position * steps) / steps);
}

OccludedBlock draw_block(size_t columns, double share, RandomStream draws) {
  if (columns == 0) return {};
  const auto wanted = static_cast<size_t>(std::lround(share * static_cast<double>(columns)));
  const size_t length = std::clamp<size_t>(wanted, 1, columns);
  return {draws.below(columns - length + 1), length};
}

const std::vector<Perturbation>& perturbations() {
  static const std::vector<Perturbation> list = [] {
    std::vector<Perturbation> made;
    const auto add = [&](Damage damage, const char* name, std::initializer_list<double> amounts) {
      for (const double amount : amounts) made.push_back({damage, amount, fmt::format("{}-{}", name, shortest(amount))});
    };
    add(Damage::missing, "missing", {0.1, 0.3, 0.5});
    add(Damage::noise, "noise", {0.05, 0.1, 0.2});
    add(Damage::quantise, "quantise", {8, 6, 4});
    add(Damage::occlude, "occlude", {0.1, 0.2, 0.3});
    return made;
  }();
  return list;
}

}  // namespace l0gm
