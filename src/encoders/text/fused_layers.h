#pragma once

#include <memory>
#include <vector>

#include "encoders/text/transformer_layer.h"

namespace l0gm {

// Layers of a Transformer on a CUDA device with products in bfloat16: the same numbers as TransformerLayer gives, up to rounding,
// by a fifth of its kernels. What lies between two products is one kernel forwards and one backwards; the gradient is written out
// here, so that nothing is paid for a tape; the weights are rounded together, and only when they have changed. States between
// layers are float while a gradient is wanted, else bfloat16.
class FusedLayers {
 public:
  FusedLayers(const TransformerConfig& config, std::vector<std::shared_ptr<TransformerLayer>> layers);
  ~FusedLayers();
  bool serves(const torch::Tensor& x, const LayerPass& pass) const;
  bool fits(int64_t layer,
            const LayerGates& gates) const;  // a layer without heads or neurons, or an odd number of them, does not
  // Layers [begin, end), which fit. `gates`: of all layers, or empty; their factors of whole layers are up to the caller.
  torch::Tensor forward(const torch::Tensor& x, const LayerPass& pass, int64_t begin, int64_t end,
                        const std::vector<LayerGates>& gates = {}) const;
  static constexpr int64_t neuron_step = 8;  // kernels want a multiple of these

 private:
  struct RoundedWeights;
  TransformerConfig config_;
  std::vector<std::shared_ptr<TransformerLayer>> layers_;
  std::unique_ptr<RoundedWeights> rounded_;
};

}  // namespace l0gm
