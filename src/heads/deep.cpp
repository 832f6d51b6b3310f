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
    x = gates_.apply(layer, x, pass);
  }
  return x.transpose(0, 1);
}

std::vector<std::shared_ptr<GateSite>> DeepHead::make_sites(const GateOptions& gate) {
  return gates_.make(gate, std::ssize(biases_), biases_.empty() ? 0 : biases_[0].size(2));
}

DeepHead::Layers DeepHead::open_layers(const GateState& state) const {
  torch::NoGradGuard no_grad;
  Layers layers{weights_, biases_};
  for (size_t k = 0; k < biases_.size(); ++k) {
    torch::Tensor &in = layers.weights[k], &out = layers.weights[k + 1], &bias = layers.biases[k];
    const HiddenGates::Open open = gates_.open(k, in.size(2), state);
    const torch::Tensor kept = open.kept.to(in.device());
    in = in.index_select(2, kept);
    bias = bias.index_select(2, kept);
    out = out.index_select(1, kept) * open.values.to(out.device(), out.scalar_type()).view({1, -1, 1});
  }
  return layers;
}

int64_t DeepHead::parameters_of_closed(const torch::Tensor& kept, const GateState& state) const {
  const Layers layers = open_layers(state);
  const int64_t gone = weights_[0].size(1) - kept.sum().item<int64_t>(), members = weights_[0].size(0);
  int64_t left = -gone * members * layers.weights[0].size(2);
  for (const torch::Tensor& weight : layers.weights) left += weight.numel();
  for (const torch::Tensor& bias : layers.biases) left += bias.numel();
  return parameters_with(kept) - left;
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
