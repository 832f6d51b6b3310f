#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>

#include "l0gm/error.h"
#include "metrics/calibrator.h"
#include "runtime/probabilities.h"

namespace l0gm {

// The weights gave no finite probability.
class NotFiniteError : public UserError {
 public:
  using UserError::UserError;
};

// A row's logits [members, outputs] to its probabilities. calibrator: nullptr for raw ones. row: room for a number per class.
// mix(row): what else has a say in the probabilities, before they are calibrated.
template <class Mix>
void finish_row(const float* logits, int64_t members, int64_t outputs, const Calibrator* calibrator, std::span<double> row,
                float* probabilities, const Mix& mix) {
  bool finite = std::all_of(logits, logits + members * outputs, [](float logit) { return std::isfinite(logit); });
  mean_probabilities(logits, members, outputs, row.data());
  mix(row.data());
  finite = finite && std::all_of(row.begin(), row.end(), [](double share) { return std::isfinite(share); });
  if (finite && calibrator != nullptr) calibrator->apply_to_row(row);
  for (size_t c = 0; c < row.size(); ++c) {
    finite = finite && std::isfinite(row[c]);
    probabilities[c] = static_cast<float>(row[c]);
  }
  if (!finite) {
    throw NotFiniteError(
        "the model gives no finite probability for a row: its weights are too large. The file was forged or made from a "
        "run that diverged; compact another run");
  }
}

inline void finish_row(const float* logits, int64_t members, int64_t outputs, const Calibrator* calibrator, std::span<double> row,
                       float* probabilities) {
  finish_row(logits, members, outputs, calibrator, row, probabilities, [](double*) {});
}

}  // namespace l0gm
