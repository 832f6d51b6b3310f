#include "heads/batch_ensemble.h"

#include <ATen/Functions.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "heads/member_layers.h"

namespace l0gm {

namespace {

// Without gradients, so many numbers of a layer at a time: they stay in the cache, and memory does not grow with the rows.
constexpr int64_t numbers_at_a_time = 1 << 20;

}  // namespace

BatchEnsembleHead::BatchEnsembleHead(int64_t width, int64_t depth, int64_t hidden, int64_t outputs, int64_t members,
                                     double dropout)
    : dropout_(dropout) {
  if (depth < 1) throw std::logic_error("BatchEnsembleHead: without a hidden layer there is nothing to share");
  for (int64_t k = 0; k < depth; ++k) {
    const int64_t in = k == 0 ? width : hidden;
    const double bound = 1 / std::sqrt(static_cast<double>(in));
    const auto named = [&](const char* name, torch::Tensor start) {
      return register_parameter(fmt::format("{}{}", name, k), std::move(start));
    };
    Layer& layer = layers_.emplace_back();
    layer.weight = named("weight", at::empty({in, hidden}).uniform_(-bound, bound));
    layer.in_factors =
        named("in", k == 0 ? at::randint(0, 2, {members, in}, at::kFloat).mul_(2).sub_(1) : at::ones({members, in}));
    layer.out_factors = named("out", at::ones({members, hidden}));
    layer.bias = named("bias", at::empty({1, hidden}).uniform_(-bound, bound).repeat({members, 1}));
  }
  const double bound = 1 / std::sqrt(static_cast<double>(hidden));
  output_ = register_parameter("output", at::empty({members, hidden, outputs}).uniform_(-bound, bound));
}

torch::Tensor BatchEnsembleHead::logits(const torch::Tensor& interface, const torch::Tensor& ids, GatePass& pass) {
  torch::Tensor x = first_product(interface, layers_[0].in_factors, layers_[0].weight);
  for (size_t k = 0; k < layers_.size(); ++k) {
    if (k > 0) x = shared_product(x, layers_[k].weight);
    const torch::Tensor next = k + 1 < layers_.size() ? layers_[k + 1].in_factors : torch::Tensor{};
    const MemberDropout dropout{is_training() ? dropout_ : 0, static_cast<int64_t>(k) + 1, ids};
    x = gates_.apply(k, member_activation(x, layers_[k].out_factors, layers_[k].bias, next, dropout, pass), pass);
  }
  return member_outputs(x, output_);
}

torch::Tensor BatchEnsembleHead::forward(const torch::Tensor& interface, const Batch&, GatePass& pass) {
  const torch::Tensor& ids = pass.example_ids();
  const int64_t rows = interface.size(0), per_row = layers_[0].bias.numel();
  const int64_t step = std::max<int64_t>(1, numbers_at_a_time / per_row);
  if (torch::GradMode::is_enabled() || rows <= step) return logits(interface, ids, pass);
  std::vector<torch::Tensor> parts;
  for (int64_t begin = 0; begin < rows; begin += step) {
    const int64_t count = std::min(step, rows - begin);
    parts.push_back(logits(interface.narrow(0, begin, count), ids.narrow(0, begin, count), pass));
  }
  return at::cat(parts);
}

std::vector<std::shared_ptr<GateSite>> BatchEnsembleHead::make_sites(const GateOptions& gate) {
  return gates_.make(gate, std::ssize(layers_), layers_[0].weight.size(1));
}

BatchEnsembleHead::Layers BatchEnsembleHead::open_layers(const GateState& state) const {
  torch::NoGradGuard no_grad;
  Layers open{layers_, output_};
  for (size_t k = 0; k < layers_.size(); ++k) {
    Layer& layer = open.hidden[k];
    const HiddenGates::Open neurons = gates_.open(k, layer.weight.size(1), state);
    const torch::Tensor kept = neurons.kept.to(layer.weight.device());
    const torch::Tensor values = neurons.values.to(layer.weight.device(), layer.weight.scalar_type());
    layer.weight = layer.weight.index_select(1, kept);
    layer.out_factors = layer.out_factors.index_select(1, kept);
    layer.bias = layer.bias.index_select(1, kept);
    if (k + 1 == layers_.size()) {
      open.output = output_.index_select(1, kept) * values.view({1, -1, 1});
    } else {
      Layer& next = open.hidden[k + 1];
      next.weight = next.weight.index_select(0, kept);
      next.in_factors = next.in_factors.index_select(1, kept) * values;
    }
  }
  return open;
}

int64_t BatchEnsembleHead::parameters_of_closed(const torch::Tensor& kept, const GateState& state) const {
  const Layers open = open_layers(state);
  const Layer& first = open.hidden[0];
  const int64_t gone = first.weight.size(0) - kept.sum().item<int64_t>();
  int64_t left = open.output.numel() - gone * (first.weight.size(1) + first.in_factors.size(0));
  for (const Layer& layer : open.hidden)
    left += layer.weight.numel() + layer.in_factors.numel() + layer.out_factors.numel() + layer.bias.numel();
  return parameters_with(kept) - left;
}

int64_t BatchEnsembleHead::parameters_with(const torch::Tensor& kept) const {
  int64_t count = 0;
  for (const torch::Tensor& parameter : parameters()) count += parameter.numel();
  const Layer& first = layers_[0];
  const int64_t gone = first.weight.size(0) - kept.sum().item<int64_t>();
  return count - gone * (first.weight.size(1) + first.in_factors.size(0));
}

}  // namespace l0gm
