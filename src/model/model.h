#pragma once

#include <memory>
#include <vector>

#include "data/table/encoded.h"
#include "encoders/encoder.h"
#include "heads/head.h"
#include "model/options.h"

namespace l0gm {

// Encoder, gate sites and head: what is trained, saved and compacted.
class Model : public torch::nn::Module {
 public:
  Model(std::shared_ptr<Encoder> encoder, std::shared_ptr<Head> head, const ModelOptions& options, const GateOptions& gate);

  torch::Tensor forward(const Batch& batch, GatePass& pass);  // logits [examples, members, outputs]
  std::vector<const GateSite*> sites() const;
  std::vector<torch::Tensor> gate_parameters() const;
  Encoder& encoder() { return *encoder_; }
  const Encoder& encoder() const { return *encoder_; }
  // Of encoder and head (gates are not part of what is served): all, or with only the dimensions of `kept` (bool [width]).
  int64_t parameter_count() const;
  int64_t parameter_count(const torch::Tensor& kept) const;

 private:
  std::shared_ptr<Encoder> encoder_;
  std::shared_ptr<Head> head_;
  double interface_dropout_;
  bool fine_ = false;
  std::unique_ptr<GateSite> interface_;  // none when dense
};

// Moves a model; only what is floating-point changes its type (Module::to would turn index buffers into floats).
void place(Model& model, torch::Device device, torch::Dtype dtype);

// A table model, its parameters drawn from `seed`.
std::shared_ptr<Model> make_table_model(const Schema& schema, const std::vector<FieldCounts>& counts, const ModelOptions& options,
                                        const GateOptions& gate, uint64_t seed);

}  // namespace l0gm
