#include "l0gm/coupling.h"

#include <ATen/Functions.h>

#include "gate/laplace_kernel.h"

namespace l0gm {

namespace {

constexpr double kernel_width = 0.2;  // Kumar et al. 2018
constexpr int64_t soft_bins = 15;
constexpr double soft_temperature = 0.01;  // Karandikar et al. 2021

torch::Tensor mmce(const torch::Tensor& confidence, const torch::Tensor& gap) {
  return at::sqrt(laplace_energy(confidence, gap, kernel_width).clamp_min(1e-12));
}

torch::Tensor soft_ece(const torch::Tensor& confidence, const torch::Tensor& gap) {
  const torch::Tensor centres = (at::arange(soft_bins, confidence.options()) + 0.5) / static_cast<double>(soft_bins);
  const torch::Tensor distance = (confidence.unsqueeze(1) - centres.unsqueeze(0)).square();
  const torch::Tensor membership = at::softmax(-distance / soft_temperature, 1);
  return (membership * gap.unsqueeze(1)).sum(0).abs().sum() / confidence.size(0);
}

}  // namespace

torch::Tensor coupling_loss(CouplingKind kind, const torch::Tensor& log_probabilities, const torch::Tensor& targets) {
  const auto [top, predicted] = log_probabilities.max(1);
  const torch::Tensor confidence = top.exp();
  const torch::Tensor correct = predicted.eq(targets).to(confidence.scalar_type());
  const torch::Tensor gap = correct - confidence;
  switch (kind) {
    case CouplingKind::none:
      return at::zeros({}, confidence.options());
    case CouplingKind::mmce:
      return mmce(confidence, gap);
    case CouplingKind::soft_ece:
      return soft_ece(confidence, gap);
    case CouplingKind::mean_gap:
      return gap.mean().abs();
  }
  return {};
}

}  // namespace l0gm
