#pragma once

#include <memory>
#include <vector>

#include "encoders/encoder.h"
#include "heads/head.h"
#include "model/options.h"
#include "model/tensor_file.h"

namespace l0gm {

// Encoder, gate sites and head: what is trained, saved and compacted.
class Model : public torch::nn::Module {
 public:
  Model(std::shared_ptr<Encoder> encoder, std::shared_ptr<Head> head, double interface_dropout, const GateOptions& gate);

  torch::Tensor forward(const Batch& batch, GatePass& pass);    // logits [examples, members, outputs]
  torch::Tensor interface(const Batch& batch, GatePass& pass);  // what the head reads, gated: [examples, width]
  torch::Tensor forward_from(const torch::Tensor& encoded, const Batch& batch, GatePass& pass);  // the same behind the encoder
  std::vector<const GateSite*> sites() const;  // in the order in which a pass meets them
  // Everything that a checkpoint holds, by name: parameters that are trained, and the buffers that the encoder says are learned.
  TensorMap state() const;
  TensorMap weights() const;          // parameters of encoder and head
  TensorMap trained_weights() const;  // the same without those of a frozen encoder
  TensorMap gates() const;            // parameters of the gates
  // What is trained at one rate each. The map of instance logits reads the whole interface: at the logits' own rate its many
  // weights would be noise, so it goes with the encoder.
  struct ParameterGroups {
    std::map<double, TensorMap> encoder;  // by the share of the encoder's learning rate (Encoder::rate_of_parameters)
    TensorMap head, logits;
  };
  ParameterGroups parameter_groups() const;
  // What training rows never touched is set to something sensible; called before evaluation.
  void settle();
  // Which interface dimensions some example may open: bool [width], on the CPU. Dense: all.
  torch::Tensor open_dimensions(const GateState& state) const;
  UnitKind unit() const { return unit_; }
  // Takes the closed units of the interface out for good: what is left is dense there, computes no closed unit where the encoder
  // can leave it out, and says the same. False: nothing was done, since gates depend on the example.
  bool narrow(const GateState& state);
  // The head reads only these dimensions (int64, ascending) of an encoder that keeps its width.
  void select(const torch::Tensor& kept);
  const torch::Tensor& selected() const { return selected_; }     // undefined: all
  const GateSite* interface_site() const { return site_.get(); }  // nullptr: dense there
  Encoder& encoder() { return *encoder_; }
  const Encoder& encoder() const { return *encoder_; }
  const Head& head() const { return *head_; }
  // Of encoder and head (gates are not part of what is served): all, or with only the dimensions of `kept` (bool [width]).
  int64_t parameter_count() const;
  int64_t parameter_count(const torch::Tensor& kept) const;
  int64_t parameter_count(const GateState& state) const;  // that closed gates leave

 private:
  const FineUnits* fine_units() const { return unit_ == UnitKind::fine ? encoder_->fine_units() : nullptr; }
  torch::Tensor gated(const torch::Tensor& r, const Batch& batch, GatePass& pass);
  std::shared_ptr<Encoder> encoder_;
  std::shared_ptr<Head> head_;
  double interface_dropout_;
  UnitKind unit_ = UnitKind::none;
  Attach attach_ = Attach::interface;
  std::vector<std::shared_ptr<GateSite>> inner_sites_;  // inside the encoder
  std::vector<std::shared_ptr<GateSite>> head_sites_;   // inside the head
  std::unique_ptr<GateSite> site_;                      // at the interface; none when dense there
  torch::Tensor selected_;                              // narrowed, but the encoder keeps its width: which dimensions are left
};

// How a model names the parameters of its gates in files.
bool is_gate_name(const std::string& name);

// Moves a model; only what is floating-point changes its type (Module::to would turn index buffers into floats).
void place(Model& model, torch::Device device, torch::Dtype dtype);

}  // namespace l0gm
