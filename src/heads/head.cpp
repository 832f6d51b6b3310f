#include "heads/head.h"

#include <ATen/Functions.h>

namespace l0gm {

void Head::narrow(const torch::Tensor&, const torch::Tensor&) { throw std::logic_error("this head cannot be narrowed in place"); }

torch::Tensor log_probabilities(const torch::Tensor& logits) {
  if (logits.size(-1) > 1) return at::log_softmax(logits, -1);
  return at::cat({at::log_sigmoid(-logits), at::log_sigmoid(logits)}, -1);
}

}  // namespace l0gm
