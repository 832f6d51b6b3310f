#include "metrics/share_interval.h"

#include <algorithm>
#include <cmath>

namespace l0gm {

Interval share_interval(double share, double count) {
  constexpr double z = 1.959963984540054;  // of the normal distribution, two-sided 95 %
  if (!(count > 0)) return {0, 1};
  const double scale = 1 + z * z / count, middle = (share + z * z / (2 * count)) / scale;
  const double half = z / scale * std::sqrt(share * (1 - share) / count + z * z / (4 * count * count));
  // At the ends the formula gives the end itself, but for rounding.
  return {share <= 0 ? 0 : std::max(0.0, middle - half), share >= 1 ? 1 : std::min(1.0, middle + half)};
}

}  // namespace l0gm
