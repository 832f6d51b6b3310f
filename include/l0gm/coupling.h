// A differentiable calibration term for the loss of a LibTorch model.
//   const torch::Tensor log_probabilities = torch::log_softmax(logits, 1);
//   loss = torch::nll_loss(log_probabilities, targets) + 0.3 * coupling_loss(CouplingKind::mmce, log_probabilities, targets);
#pragma once

#include <torch/types.h>

#include "l0gm/options.h"

namespace l0gm {

enum class CouplingKind { none, mmce, soft_ece, mean_gap };
template <>
inline constexpr auto enum_names<CouplingKind> = std::to_array<std::string_view>({"none", "mmce", "soft-ece", "mean-gap"});

struct CouplingOptions {
  CouplingKind kind = CouplingKind::none;
  double weight = 0.3;

  template <class Visitor>
  void visit(Visitor& v) {
    v("kind", kind,
      "a calibration term in the loss: kernel (mmce), softly binned (soft-ece), mean confidence against accuracy (mean-gap)");
    v("weight", weight, "its weight; 0.1, 0.3 and 1.0 are light, moderate and strong", at_least(0));
  }
};

// A differentiable measure of miscalibration over a batch: log-probabilities [examples, classes], targets [examples].
// The gradient flows through the confidence; correctness is a constant.
torch::Tensor coupling_loss(CouplingKind kind, const torch::Tensor& log_probabilities, const torch::Tensor& targets);

}  // namespace l0gm
