#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace l0gm {

// A rising curve from logit to probability: linear between its points, constant outside.
struct IsotonicCurve {
  std::vector<double> logits;         // strictly rising
  std::vector<double> probabilities;  // not falling, inside (0, 1)
  double at(double logit) const;
};

// The non-falling curve nearest to the outcomes (pool adjacent violators; it minimises squared error and log loss alike). Equal
// logits are pooled first. Values are kept inside [1/(n+2), 1 - 1/(n+2)]: n rows cannot prove a probability of 0 or 1,
// and a 0 would make the log loss infinite if the event occurs after all.
IsotonicCurve fit_isotonic(std::vector<std::pair<double, bool>> logit_and_outcome);

}  // namespace l0gm
