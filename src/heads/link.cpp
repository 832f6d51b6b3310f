#include "heads/link.h"

#include <ATen/Functions.h>

#include <cmath>

#include "batches/graph/graph_batches.h"

namespace l0gm {

LinkHead::LinkHead(int64_t width, LinkScorer scorer, int64_t hidden) : scorer_(scorer) {
  bias_ = register_parameter("bias", at::zeros({1}));
  if (scorer == LinkScorer::dot) {
    channel_weight_ = register_parameter("weight", at::full({width}, 1 / std::sqrt(static_cast<double>(width))));
    return;
  }
  const auto start = [](int64_t in, int64_t out) {
    const double bound = 1 / std::sqrt(static_cast<double>(in));
    return at::empty({in, out}).uniform_(-bound, bound);
  };
  weight0_ = register_parameter("weight0", start(width, hidden));
  bias0_ = register_parameter("bias0", at::zeros({hidden}));
  weight1_ = register_parameter("weight1", start(hidden, 1));
}

torch::Tensor LinkHead::forward(const torch::Tensor& interface, const Batch& base, GatePass&) {
  const auto& batch = dynamic_cast<const GraphBatch&>(base);
  const torch::Tensor product =
      interface.index_select(0, batch.pairs.select(1, 0)) * interface.index_select(0, batch.pairs.select(1, 1));
  const torch::Tensor score = scorer_ == LinkScorer::dot ? at::mv(product, channel_weight_).unsqueeze(1)
                                                         : at::mm(at::relu(at::addmm(bias0_, product, weight0_)), weight1_);
  return (score + bias_).unsqueeze(2);
}

int64_t LinkHead::parameters_with(const torch::Tensor& kept) const {
  const int64_t left = kept.sum().item<int64_t>();
  if (scorer_ == LinkScorer::dot) return left + 1;
  const int64_t hidden = weight1_.size(0);
  return left * hidden + 2 * hidden + 1;
}

void LinkHead::narrow(const torch::Tensor& kept, const torch::Tensor& values) {
  torch::NoGradGuard no_grad;
  torch::Tensor& first = scorer_ == LinkScorer::dot ? channel_weight_ : weight0_;
  // Both nodes of a pair were multiplied by the gate's value.
  torch::Tensor scale = values.to(first.device(), first.scalar_type()).square();
  if (first.dim() == 2) scale = scale.unsqueeze(1);
  first.set_data((first.index_select(0, kept.to(first.device())) * scale).contiguous());
}

}  // namespace l0gm
