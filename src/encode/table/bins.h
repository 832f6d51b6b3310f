#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>

namespace l0gm {

// A field's encoding of a value: embedding = row[code] + slope * direction[code].
struct CodeAndSlope {
  int32_t code = 0;
  float slope = 0;
};

// Where a value lies between two edges: 0 at the lower, 1 at the upper. Halves keep the difference of two huge numbers finite.
inline double position(double value, double low, double high) {
  const double width = high * 0.5 - low * 0.5;
  return width > 0 ? (value * 0.5 - low * 0.5) / width : 0.0;
}

// How many of the ascending edges are at most `value`. No branch depends on the comparisons: the processor could not predict
// them.
inline size_t edges_up_to(std::span<const double> edges, double value) {
  const double* first = edges.data();
  size_t count = edges.size();
  while (count > 1) {
    const size_t half = count / 2;
    first += half * static_cast<size_t>(first[half - 1] <= value);
    count -= half;
  }
  return static_cast<size_t>(first - edges.data()) + (count == 1 && *first <= value ? 1 : 0);
}

// Code 1 + bin and the position inside it. `edges`: two or more; values beyond the outermost edges go to the outer bins.
inline CodeAndSlope piecewise(std::span<const double> edges, double value) {
  const size_t bin = edges_up_to(edges.subspan(1, edges.size() - 2), value);
  return {static_cast<int32_t>(1 + bin), static_cast<float>(std::clamp(position(value, edges[bin], edges[bin + 1]), -2.0, 3.0))};
}

// The code of a cut (schema.h); NaN: missing.
inline int32_t cut_code(std::span<const double> edges, double value) {
  return std::isnan(value) ? 0 : static_cast<int32_t>(1 + edges_up_to(edges, value));
}

}  // namespace l0gm
