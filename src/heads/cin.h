#pragma once

#include <functional>
#include <vector>

#include "heads/head.h"

namespace l0gm {

// One layer of a compressed interaction network, computed without holding all batch x H x m x D products in memory:
//   out[e, h] = sum_i sum_j weight[j, i, h] previous[e, i] base[e, j],    e = one coordinate of one example
// previous [elements, H'], base [elements, m], weight [m, H', H] -> [elements, H]. Differentiable.
torch::Tensor cin_layer(const torch::Tensor& previous, const torch::Tensor& base, const torch::Tensor& weight);

// Compressed interaction network: feature maps X^k_h = sum_ij W^k_hij X^{k-1}_i * X^0_j per embedding coordinate, no bias, no
// activation; the maps of all depths, summed over coordinates, weighted into logits. Depth k is homogeneous of degree k + 1 in
// the embeddings.
//   rank 0   full W^k: H_k H_{k-1} m parameters, independent of the width
//   rank L   W^k_hij = sum_l U_hil V_hjl: L H_k (H_{k-1} + m) parameters
class CinHead : public Head {
 public:
  CinHead(HeadShape shape, const std::vector<int64_t>& maps, int64_t rank);
  torch::Tensor forward(const torch::Tensor& interface, const Batch& batch, GatePass& pass) override;
  torch::Tensor forward_dropping(const torch::Tensor& interface, double share, const Batch& batch, GatePass& pass) override;
  bool drops_factors() const override { return true; }
  int64_t parameters_with(const torch::Tensor& kept) const override;
  torch::Tensor pooled(const torch::Tensor& interface) const;  // [examples, all maps]
  const std::vector<int64_t>& maps() const { return maps_; }
  torch::Tensor full_weights(size_t depth) const;  // [m, H', H], multiplied out if low rank
  const torch::Tensor& output() const { return output_; }

 private:
  // factor(k): X^0 as the first factor (0), or as the second one of depth k.
  torch::Tensor pooled_of(int64_t examples, const std::function<torch::Tensor(size_t)>& factor) const;
  torch::Tensor by_coordinate(const torch::Tensor& interface) const;  // a row per coordinate of an example: [elements, fields]
  HeadShape shape_;
  std::vector<int64_t> maps_;
  int64_t rank_;
  std::vector<torch::Tensor> weights_;       // full: [m, H', H]
  std::vector<torch::Tensor> left_, right_;  // low rank: [H', H * L], [m, H * L]
  torch::Tensor output_;                     // [all maps, members * outputs]
};

}  // namespace l0gm
