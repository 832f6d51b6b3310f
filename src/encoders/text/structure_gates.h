#pragma once

#include <memory>
#include <string>
#include <vector>

#include "encoders/text/part_costs.h"
#include "encoders/text/transformer.h"
#include "l0gm/gate_pass.h"

namespace l0gm {

// How much of an encoder is left.
struct StructureReport {
  int64_t layers = 0, heads = 0, neurons = 0;  // of layers that are left
  int64_t layers_dense = 0, heads_dense = 0, neurons_dense = 0;
  double speedup = 1;  // by the costs of the parts, with all that is no part
};

// Gates on the parts of a Transformer: whole layers, attention heads, feed-forward neurons. All are drawn once per step.
//   layers   x + z (Layer(x) - x), norms and biases inside: a closed layer is the identity, and is skipped
//   heads    what a head read times z, before the output's product
//   ffn      a neuron's activation times z
// With all heads or neurons of a layer closed its biases and norms are still computed.
class StructureGates {
 public:
  // `interface_units`: dimensions that are gated beside; 0: none are. Costs are scaled so that a unit costs 1 on average.
  StructureGates(const TransformerConfig& config, const GateOptions& options, const PartCosts& costs, int64_t interface_units);

  std::vector<std::shared_ptr<GateSite>> sites() const;
  double cost_of_dimension() const { return scale_ * costs_.dimension; }
  // In a pass, for each layer. While gates are fixed, closed parts are left out; `computed`: they are computed and multiplied by
  // 0.
  std::vector<LayerGates> of_layers(GatePass& pass, const Transformer& transformer, bool computed) const;
  // By the test rule.
  std::vector<LayerGates> fixed(const GateState& state, bool computed) const;
  StructureReport report(const GateState& state) const;

 private:
  struct Values {  // of units, on the host; empty: that kind is not gated
    std::vector<double> layers, heads, neurons;
    bool operator==(const Values&) const = default;
  };
  // What was made of them last: fixed gates are the same in every step.
  struct Made {
    Values values;
    bool computed = false;
    torch::Device device = torch::kCPU;
    torch::Dtype type = torch::kFloat32;
    std::vector<LayerGates> gates;
  };
  std::shared_ptr<GateSite> site(Attach attach, const GateOptions& options, const std::vector<double>& costs) const;
  Values values(const GateState& state) const;
  std::vector<LayerGates> fixed(const Values& values, bool computed) const;
  std::vector<LayerGates> sampled(const torch::Tensor& layers, const torch::Tensor& heads, const torch::Tensor& neurons) const;
  TransformerConfig config_;
  PartCosts costs_;
  double scale_ = 1;
  std::shared_ptr<GateSite> layers_, heads_, neurons_;  // nullptr: not gated
  mutable Made made_;
};

}  // namespace l0gm
