#pragma once

#include <vector>

#include "heads/head.h"
#include "heads/hidden_gates.h"

namespace l0gm {

// A multi-layer perceptron with ReLU, one per member; members share the interface and are computed as one batched product. The
// last layer has no bias: the sum of branches has one.
class DeepHead : public Head {
 public:
  DeepHead(int64_t width, int64_t depth, int64_t hidden, int64_t outputs, int64_t members, double dropout);
  torch::Tensor forward(const torch::Tensor& interface, const Batch& batch, GatePass& pass) override;
  int64_t parameters_with(const torch::Tensor& kept) const override;
  void narrow(const torch::Tensor& kept, const torch::Tensor& values) override;
  std::vector<std::shared_ptr<GateSite>> make_sites(const GateOptions& gate) override;
  int64_t parameters_of_closed(const torch::Tensor& kept, const GateState& state) const override;
  const std::vector<torch::Tensor>& weights() const { return weights_; }
  const std::vector<torch::Tensor>& biases() const { return biases_; }
  // The same without closed hidden neurons; what the others are multiplied with is in the weights behind them.
  struct Layers {
    std::vector<torch::Tensor> weights, biases;
  };
  Layers open_layers(const GateState& state) const;

 private:
  double dropout_;
  HiddenGates gates_;
  std::vector<torch::Tensor> weights_, biases_;  // [members, in, out], [members, 1, out] but for the last layer
};

}  // namespace l0gm
