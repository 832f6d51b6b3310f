#include "encoders/text/relative_positions.h"

#include <ATen/Functions.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace l0gm {

int64_t relative_bucket(int64_t distance, int64_t buckets, int64_t largest) {
  const int64_t middle = buckets / 2, size = std::abs(distance);
  if (size <= middle) return distance;
  // In float, as the reference computes it: a rounding the other way would pick another row.
  const float share = std::log(static_cast<float>(size) / static_cast<float>(middle)) /
                      static_cast<float>(std::log(static_cast<double>(largest - 1) / static_cast<double>(middle)));
  const auto bucket = static_cast<int64_t>(std::ceil(share * static_cast<float>(middle - 1))) + middle;
  return distance < 0 ? -bucket : bucket;
}

RelativePositions::RelativePositions(const TransformerConfig& config)
    : span_(config.relative_span()),
      buckets_(config.position_buckets),
      largest_(config.largest_relative_position()),
      dropout_(config.hidden_dropout) {
  rows = register_parameter("rows", at::zeros({2 * span_, config.hidden}));
  if (config.norm_relative) norm = register_module("norm", std::make_shared<LayerNorm>(config.hidden, config.norm_epsilon));
}

torch::Tensor RelativePositions::forward(const LayerPass& pass) const {
  const torch::Tensor x = norm == nullptr ? rows : norm->forward(rows);
  if (!pass.training()) return x;
  return pass.pass.dropout(x, dropout_, dropout_place(DropoutPlace::relative_positions),
                           at::arange(2 * span_, pass.token_ids.options()));
}

torch::Tensor RelativePositions::row_of_pair(int64_t queries, int64_t keys, torch::Device device) const {
  // One number per distance, spread over the pairs on the device.
  torch::Tensor of_distance = at::empty({queries + keys - 1}, torch::kInt64);
  auto* out = of_distance.data_ptr<int64_t>();
  for (int64_t distance = 1 - keys; distance < queries; ++distance) {
    const int64_t bucket = buckets_ > 0 ? relative_bucket(distance, buckets_, largest_) : distance;
    out[distance + keys - 1] = std::clamp<int64_t>(bucket + span_, 0, 2 * span_ - 1);
  }
  const auto integers = at::TensorOptions(torch::kInt64).device(device);
  const torch::Tensor distance =
      at::arange(queries, integers).unsqueeze(1) - at::arange(keys, integers).unsqueeze(0) + (keys - 1);
  return of_distance.to(device).index_select(0, distance.reshape(-1)).view({queries, keys});
}

}  // namespace l0gm
