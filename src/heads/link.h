#pragma once

#include "data/graph/options.h"
#include "heads/head.h"

namespace l0gm {

// Scores pairs of nodes (GraphBatch::pairs, rows of the interface): one logit each, independent of the order of the two nodes.
// dot: the nodes' scaled dot product; mlp: a hidden layer on their elementwise product.
class LinkHead : public Head {
 public:
  LinkHead(int64_t width, LinkScorer scorer, int64_t hidden);
  torch::Tensor forward(const torch::Tensor& interface, const Batch& batch, GatePass& pass) override;  // [pairs, 1, 1]
  int64_t parameters_with(const torch::Tensor& kept) const override;
  void narrow(const torch::Tensor& kept, const torch::Tensor& values) override;
  LinkScorer scorer() const { return scorer_; }
  int64_t hidden() const { return scorer_ == LinkScorer::dot ? 0 : weight1_.size(0); }

 private:
  LinkScorer scorer_;
  torch::Tensor weight0_, bias0_, weight1_, bias_;
  torch::Tensor channel_weight_;  // dot: the weight of each channel's product
};

}  // namespace l0gm
