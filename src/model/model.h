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
  Model(std::shared_ptr<Encoder> encoder, std::shared_ptr<Head> head, double interface_dropout, const GateOptions& gate);

  torch::Tensor forward(const Batch& batch, GatePass& pass);    // logits [examples, members, outputs]
  torch::Tensor interface(const Batch& batch, GatePass& pass);  // what the head reads, gated: [examples, width]
  std::vector<const GateSite*> sites() const;
  std::vector<torch::Tensor> gate_parameters() const;
  // What training rows never touched is set to something sensible; called before evaluation.
  void settle();
  // Which interface dimensions some example may open: bool [width], on the CPU. Dense: all.
  torch::Tensor open_dimensions(const GateState& state) const;
  UnitKind unit() const { return unit_; }
  Encoder& encoder() { return *encoder_; }
  const Encoder& encoder() const { return *encoder_; }
  const Head& head() const { return *head_; }
  // Of encoder and head (gates are not part of what is served): all, or with only the dimensions of `kept` (bool [width]).
  int64_t parameter_count() const;
  int64_t parameter_count(const torch::Tensor& kept) const;

 private:
  std::shared_ptr<Encoder> encoder_;
  std::shared_ptr<Head> head_;
  double interface_dropout_;
  UnitKind unit_ = UnitKind::none;
  Attach attach_ = Attach::interface;
  std::unique_ptr<GateSite> site_;  // none when dense
};

// Moves a model; only what is floating-point changes its type (Module::to would turn index buffers into floats).
void place(Model& model, torch::Device device, torch::Dtype dtype);

// A table model, its parameters drawn from `seed`. The interface of `linear` are the terms themselves, and its units columns.
std::shared_ptr<Model> make_table_model(const Schema& schema, const std::vector<FieldCounts>& counts, const TableModelOptions& options,
                                        const GateOptions& gate, uint64_t seed);

}  // namespace l0gm
