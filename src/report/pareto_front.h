#pragma once

#include <cstddef>
#include <vector>

namespace l0gm {

struct FrontPoint {
  double active_fraction = 1, value = 0;
};
// Places of the points that no other beats: none reads as few units, or fewer, and is better. Points with an undefined figure are
// not on it. In the order of rising active fraction.
std::vector<size_t> pareto_front(const std::vector<FrontPoint>& points, bool higher_is_better);

}  // namespace l0gm
