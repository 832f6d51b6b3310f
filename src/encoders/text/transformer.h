// A Transformer encoder over packed texts.
//   Transformer encoder(config);
//   torch::Tensor states = encoder.forward({batch, pass, {}, torch::kFloat32});  // [total tokens, hidden]
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "encoders/text/embeddings.h"
#include "encoders/text/fused_layers.h"
#include "encoders/text/transformer_layer.h"

namespace l0gm {

class Transformer : public torch::nn::Module {
 public:
  explicit Transformer(const TransformerConfig& config);

  torch::Tensor forward(const LayerPass& pass) const;  // states of all tokens after the last layer
  // The steps of forward(). first_layers: layers 0 … count - 1 as layer() gives them, together. `relative`: what relative()
  // returned, the same for all layers of a pass.
  torch::Tensor embed(const LayerPass& pass) const { return embeddings->forward(pass); }
  torch::Tensor relative(const LayerPass& pass) const;
  // `gates`: of this layer, or of all layers; none: all is open.
  torch::Tensor layer(int64_t index, const torch::Tensor& x, const LayerPass& pass, const torch::Tensor& relative,
                      bool first_only, const LayerGates& gates = {}) const;
  torch::Tensor first_layers(int64_t count, const torch::Tensor& x, const LayerPass& pass, const torch::Tensor& relative,
                             const std::vector<LayerGates>& gates = {}) const;
  // Takes out for good what these gates have closed: whole layers, heads, neurons. What is left says the same.
  void narrow(const std::vector<LayerGates>& gates);

  const TransformerConfig& config() const { return config_; }
  void keep_layers_for_gradient(bool kept) { kept_ = kept; }  // false: they are computed again
  void draw_weights();  // normal with the config's deviation; biases 0, norms 1. Uses torch's generator

  // Every learned tensor under the name that the reference library gives it, as a view: query, key and value are parts of one.
  struct NamedTensor {
    std::string name;
    torch::Tensor tensor;
  };
  std::vector<NamedTensor> named_tensors() const;

  std::shared_ptr<TextEmbeddings> embeddings;
  std::shared_ptr<RelativePositions> relative_positions;  // nullptr: none
  std::vector<std::shared_ptr<TransformerLayer>> layers;

 private:
  torch::Tensor plain_layer(int64_t index, const torch::Tensor& x, const LayerPass& pass, const torch::Tensor& relative,
                            bool first_only, const LayerGates& gates) const;  // without the factor of the whole layer
  TransformerConfig config_;
  bool kept_ = true;
  std::unique_ptr<FusedLayers> fused_;
};

}  // namespace l0gm
