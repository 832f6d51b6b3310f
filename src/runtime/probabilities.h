#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace l0gm {

// The mean of the members' probabilities. logits: [members, outputs]; one output is the log odds of class 1 of two.
template <class Real>
void mean_probabilities(const Real* logits, int64_t members, int64_t outputs, double* probabilities) {
  const int64_t classes = outputs == 1 ? 2 : outputs;
  std::fill_n(probabilities, classes, 0.0);
  for (int64_t m = 0; m < members; ++m, logits += outputs) {
    if (outputs == 1) {
      const double x = static_cast<double>(logits[0]), odds = std::exp(-std::abs(x)), likely = 1 / (1 + odds);
      const double unlikely = odds * likely;  // not 1 - likely, which would lose digits
      probabilities[0] += x > 0 ? unlikely : likely;
      probabilities[1] += x > 0 ? likely : unlikely;
      continue;
    }
    const double top = static_cast<double>(*std::max_element(logits, logits + outputs));
    double sum = 0;
    for (int64_t o = 0; o < outputs; ++o) sum += std::exp(static_cast<double>(logits[o]) - top);
    for (int64_t o = 0; o < outputs; ++o) probabilities[o] += std::exp(static_cast<double>(logits[o]) - top) / sum;
  }
  for (int64_t c = 0; c < classes && members > 1; ++c) probabilities[c] /= static_cast<double>(members);
}

}  // namespace l0gm
