#include "heads/deep.h"

#include <ATen/Functions.h>
#include <fmt/format.h>

#include <cmath>

namespace l0gm {

DeepHead::DeepHead(int64_t width, int64_t depth, int64_t hidden, int64_t outputs, int64_t members, double dropout)
    : dropout_(dropout) {
  for (int64_t layer = 0; layer <= depth; ++layer) {
    const int64_t in = layer == 0 ? width : hidden, out = layer == depth ? outputs : hidden;
    const double bound = 1 / std::sqrt(static_cast<double>(in));
    weights_.push_back(register_parameter(fmt::format("weight{}", layer), at::empty({members, in, out}).uniform_(-bound, bound)));
    if (layer < depth)
      biases_.push_back(register_parameter(fmt::format("bias{}", layer), at::empty({members, 1, out}).uniform_(-bound, bound)));
  }
}

torch::Tensor DeepHead::forward(const torch::Tensor& interface, const Batch&, GatePass& pass) {
  const int64_t members = weights_[0].size(0);
  torch::Tensor x = interface.unsqueeze(0).expand({members, -1, -1});
  for (size_t layer = 0; layer < weights_.size(); ++layer) {
    if (layer + 1 == weights_.size()) return at::bmm(x, weights_[layer]).transpose(0, 1);
    x = at::relu(at::baddbmm(biases_[layer], x, weights_[layer]));
    if (is_training() && dropout_ > 0) {
      x = pass.dropout(x.transpose(0, 1), dropout_, static_cast<int64_t>(layer) + 1).transpose(0, 1);
    }
  }
  return x.transpose(0, 1);
}

void DeepHead::narrow(const torch::Tensor& kept, const torch::Tensor& values) {
  torch::NoGradGuard no_grad;
  torch::Tensor& first = weights_[0];
  first.set_data(
      (first.index_select(1, kept.to(first.device())) * values.to(first.device(), first.scalar_type()).view({1, -1, 1}))
          .contiguous());
}

int64_t DeepHead::parameters_with(const torch::Tensor& kept) const {
  int64_t count = 0;
  for (const torch::Tensor& parameter : parameters()) count += parameter.numel();
  const int64_t gone = weights_[0].size(1) - kept.sum().item<int64_t>();
  return count - gone * weights_[0].size(0) * weights_[0].size(2);
}

}  // namespace l0gm
