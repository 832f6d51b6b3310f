#pragma once

#include <map>
#include <memory>
#include <vector>

#include "encoders/encoder.h"
#include "encoders/text/options.h"
#include "encoders/text/structure_gates.h"

namespace l0gm {

// A Transformer as the encoder of texts: the interface is the mean of a text's states, or the state of its first token.
//   unit = dimension   a dimension of the interface
//   unit = group       a block of dimensions (encoder.blocks)
//   unit = fine        a dimension of the token states that enter the last layer, in a block of positions: 0-63, 64-127, 128-255,
//                      256 and beyond; and a dimension of the interface
// Gates may also be on its heads, neurons and layers (StructureGates), whatever the unit is.
// The interface follows a layer norm, which reads all dimensions: closed ones are computed all the same, and narrow() refuses.
class TextEncoder : public Encoder {
 public:
  TextEncoder(std::shared_ptr<Transformer> transformer, const EncoderOptions& options);

  torch::Tensor forward(const Batch& batch, GatePass& pass) override;
  int64_t width() const override { return transformer_->config().hidden; }
  InterfaceUnits units(UnitKind kind, Attach attach) const override;
  std::vector<int64_t> parameters_of_dimension() const override;
  int64_t shared_parameters() const override;
  std::vector<std::shared_ptr<GateSite>> make_sites(const GateOptions& options) override;
  bool has_structure() const override { return true; }
  bool gated_at_interface(const GateOptions& options) const override { return options.attach.has(Attach::interface); }

  bool frozen() const override { return feature_mean_.defined(); }
  std::map<std::string, double> rate_of_parameters() const override;
  std::map<std::string, torch::Tensor> learned_buffers() const override;
  // The interface before and after scaling, which a frozen encoder's has.
  torch::Tensor unscaled(const TextBatch& batch, GatePass& pass);
  torch::Tensor scaled(const torch::Tensor& features) const;
  void scale_interface(const torch::Tensor& mean, const torch::Tensor& factor);  // [width] each; frozen encoders only
  // Fine units: the gates of token states become fixed factors for good, [token_blocks, width].
  static constexpr auto token_blocks = static_cast<int64_t>(token_block_starts.size());
  void fix_token_gates(const torch::Tensor& factors);
  const GateSite* token_site() const { return token_site_.get(); }  // nullptr: none, or fixed
  bool has_token_factors() const { return token_factors_.defined(); }

  // Gates on the structure: what parts cost has to be known before the sites are made.
  void set_part_costs(const PartCosts& costs) { part_costs_ = costs; }
  const StructureGates* structure() const { return structure_.get(); }  // nullptr: none, or narrowed
  // Closed heads, neurons and layers are computed all the same and multiplied by 0: what a narrowed encoder is compared with.
  void compute_closed_parts(bool computed) { closed_are_computed_ = computed; }
  // Takes out for good what the test rule closes. `same_shape`: layers only; closed heads and neurons stay, with weights of 0.
  void narrow_structure(const GateState& state, bool same_shape = false);

  const TransformerConfig& config() const { return transformer_->config(); }
  Transformer& transformer() { return *transformer_; }
  const Transformer& transformer() const { return *transformer_; }
  Pooling pooling() const { return pooling_; }
  // Matrix products in another precision than the weights' (bfloat16, float16); states, norms and pooling keep the weights'.
  void compute_in(torch::Dtype type) { compute_ = type; }
  // How deep each parameter lies, by its name below the encoder: 0 for embeddings, i for layer i, counted from 1.
  std::map<std::string, int64_t> depth_of_parameters() const;
  // The vectors that the encoder reads for these tokens, for perturbed inputs (TextBatch::word_vectors).
  torch::Tensor word_vectors(const torch::Tensor& tokens) const;

 private:
  torch::Tensor pooled(const torch::Tensor& states, const TextBatch& batch) const;
  torch::Tensor gated_tokens(const torch::Tensor& states, const TextBatch& batch, GatePass& pass) const;
  std::shared_ptr<Transformer> transformer_;
  Pooling pooling_;
  int64_t blocks_;
  double layer_decay_;
  torch::Tensor feature_mean_, feature_factor_;  // of a frozen encoder; else undefined
  std::optional<torch::Dtype> compute_;
  std::shared_ptr<GateSite> token_site_;  // fine units: what enters the last layer
  torch::Tensor token_factors_;           // the same, fixed; else undefined
  std::optional<PartCosts> part_costs_;
  std::unique_ptr<StructureGates> structure_;
  bool closed_are_computed_ = false;
};

}  // namespace l0gm
