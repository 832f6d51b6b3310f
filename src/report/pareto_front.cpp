#include "report/pareto_front.h"

#include <algorithm>
#include <cmath>

namespace l0gm {

std::vector<size_t> pareto_front(const std::vector<FrontPoint>& points, bool higher_is_better) {
  std::vector<size_t> order;
  for (size_t i = 0; i < points.size(); ++i) {
    if (std::isfinite(points[i].value) && std::isfinite(points[i].active_fraction)) order.push_back(i);
  }
  const auto better = [&](double a, double b) { return higher_is_better ? a > b : a < b; };
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    if (points[a].active_fraction != points[b].active_fraction) return points[a].active_fraction < points[b].active_fraction;
    return better(points[a].value, points[b].value);
  });
  std::vector<size_t> front;
  for (const size_t i : order) {
    const bool same = !front.empty() && points[i].active_fraction == points[front.back()].active_fraction &&
                      points[i].value == points[front.back()].value;
    if (front.empty() || same || better(points[i].value, points[front.back()].value)) front.push_back(i);
  }
  return front;
}

}  // namespace l0gm
