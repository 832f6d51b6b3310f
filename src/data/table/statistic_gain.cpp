#include "data/table/statistic_gain.h"

#include <algorithm>
#include <cmath>

namespace l0gm {
namespace {

constexpr double least_gain = 1e-6;  // nats: less is rounding

}  // namespace

bool Gain::beyond_noise(size_t candidates) const {
  const double errors = std::max(3.0, std::sqrt(2 * std::log(static_cast<double>(candidates))));
  return mean > std::max(least_gain, errors * error);
}

Gain gain_of(const FoldedLabels& labels, const Groups& groups, double smoothing) {
  double sum = 0, squares = 0;
  count_keys(labels, groups, [&](size_t, const KeyCounts& counts) {
    for (size_t fold = 0; fold < statistic_folds; ++fold) {
      if (counts.rows[fold] == 0) continue;
      const double others = static_cast<double>(counts.all_rows - counts.rows[fold]) + smoothing;
      for (size_t c = 0; c < labels.classes; ++c) {
        const int64_t here = counts.of_class[fold * labels.classes + c];
        const double prior = here == 0 ? 0 : labels.outside[fold].prior(c);
        if (!(prior > 0)) continue;  // all rows of the class are in this fold: nothing is known of it outside
        const double of_class = static_cast<double>(counts.all_of_class[c] - here) + smoothing * prior;
        const double gain = std::log(of_class / others / prior);
        sum += static_cast<double>(here) * gain;
        squares += static_cast<double>(here) * gain * gain;
      }
    }
  });
  const auto rows = static_cast<double>(labels.rows());
  const double mean = sum / rows;
  // Twice the variance of independent rows: each two rows of a key count each other's label.
  return {mean, std::sqrt(2 * std::max(0.0, squares / rows - mean * mean) / rows)};
}

}  // namespace l0gm
