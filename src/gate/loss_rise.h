#pragma once

#include <vector>

#include "l0gm/gate_control.h"

namespace l0gm {

// By how much a change raises the loss, and the standard error of that.
struct LossRise {
  double rise = 0, error = 0;
};

// What each of some changes does, beside the losses as they are. Examples that weights are not trained on tell the truth, with
// the noise of few examples. Those that weights are trained on are more, but flatter what they learned by heart: their rises are
// scaled to the others', and count as far as they agree with them, over all changes and for the change itself.
std::vector<LossRise> rises_of(const std::vector<MeasuredLosses>& changed, const MeasuredLosses& as_is);

}  // namespace l0gm
