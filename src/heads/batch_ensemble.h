#pragma once

#include <vector>

#include "heads/head.h"
#include "heads/hidden_gates.h"

namespace l0gm {

// A multi-layer perceptron with ReLU in several versions (members) that share the weights of every hidden layer. Each member
// multiplies a layer's input and output by vectors of its own and has biases and a last layer of its own:
//   x <- max(0, ((x * in_k[m]) weight_k) * out_k[m] + bias_k[m]);   logits = x output[m]
// The first layer's input vectors start at random signs, which is what sets members apart, all others at 1. The last layer has no
// bias: the sum of branches has one. A layer is one product for all members.
class BatchEnsembleHead : public Head {
 public:
  BatchEnsembleHead(int64_t width, int64_t depth, int64_t hidden, int64_t outputs, int64_t members, double dropout);
  torch::Tensor forward(const torch::Tensor& interface, const Batch& batch, GatePass& pass) override;
  int64_t parameters_with(const torch::Tensor& kept) const override;
  std::vector<std::shared_ptr<GateSite>> make_sites(const GateOptions& gate) override;
  int64_t parameters_of_closed(const torch::Tensor& kept, const GateState& state) const override;

  struct Layer {
    torch::Tensor weight;       // [in, out]
    torch::Tensor in_factors;   // [members, in]
    torch::Tensor out_factors;  // [members, out]
    torch::Tensor bias;         // [members, out]
  };
  const std::vector<Layer>& layers() const { return layers_; }
  const torch::Tensor& output() const { return output_; }  // [members, hidden, outputs]
  // The same without closed hidden neurons; what the others are multiplied with is in the vectors and weights behind them.
  struct Layers {
    std::vector<Layer> hidden;
    torch::Tensor output;
  };
  Layers open_layers(const GateState& state) const;

 private:
  torch::Tensor logits(const torch::Tensor& interface, const torch::Tensor& ids, GatePass& pass);
  double dropout_;
  HiddenGates gates_;
  std::vector<Layer> layers_;
  torch::Tensor output_;
};

}  // namespace l0gm
