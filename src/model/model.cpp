#include "model/model.h"

#include <ATen/Functions.h>
#include <ATen/Context.h>

#include "encoders/table/field_embeddings.h"
#include "heads/deep.h"
#include "l0gm/error.h"

namespace l0gm {

namespace {
constexpr int64_t interface_place = 0;  // of dropout; heads count from 1
}

Model::Model(std::shared_ptr<Encoder> encoder, std::shared_ptr<Head> head, const ModelOptions& options, const GateOptions& gate)
    : encoder_(std::move(encoder)), head_(std::move(head)), interface_dropout_(options.interface_dropout) {
  register_module("encoder", encoder_);
  register_module("head", head_);
  if (gate.unit == UnitKind::none) return;
  if (gate.attach != Attach::interface) {
    throw UserError("gate.attach = input is not available for this model; the gate of `mlp` sits at the interface");
  }
  if (gate.unit == UnitKind::fine && gate.logits == LogitKind::fixed) {  // scores are kept per dimension
    throw UserError("gate.logits = static needs gate.unit = dimension or group; found fine");
  }
  InterfaceUnits units = encoder_->units(gate.unit);
  fine_ = gate.unit == UnitKind::fine;
  interface_ = std::make_unique<GateSite>();
  interface_->name = "interface";
  interface_->gate = HardConcrete(gate, units.cost, encoder_->width());
  if (units.index.defined()) interface_->index = register_buffer("interface_index", units.index);
  interface_->unit_name = units.unit_name;
  register_module("gate", interface_->gate.ptr());
}

torch::Tensor Model::forward(const Batch& batch, GatePass& pass) {
  torch::Tensor r = encoder_->forward(batch, pass);
  if (interface_ != nullptr) r = pass.apply(*interface_, r, fine_ ? encoder_->fine_index(batch) : torch::Tensor{});
  if (is_training()) r = pass.dropout(r, interface_dropout_, interface_place);
  return head_->forward(r, batch, pass);
}

std::vector<const GateSite*> Model::sites() const {
  if (interface_ == nullptr) return {};
  return {interface_.get()};
}

std::vector<torch::Tensor> Model::gate_parameters() const {
  return interface_ == nullptr ? std::vector<torch::Tensor>{} : interface_->gate->parameters();
}

int64_t Model::parameter_count() const { return parameter_count(at::ones({encoder_->width()}, torch::kBool)); }

int64_t Model::parameter_count(const torch::Tensor& kept) const {
  const std::vector<int64_t> of_dimension = encoder_->parameters_of_dimension();
  int64_t count = 0;
  for (const torch::Tensor& parameter : head_->parameters()) count += parameter.numel();
  for (int64_t d = 0; d < encoder_->width(); ++d) {
    if (kept[d].item<bool>()) count += of_dimension[static_cast<size_t>(d)];
    else count -= head_->parameters_per_dimension();
  }
  return count;
}

void place(Model& model, torch::Device device, torch::Dtype dtype) {
  std::vector<torch::Tensor> tensors = model.parameters();
  for (const torch::Tensor& buffer : model.buffers()) tensors.push_back(buffer);
  for (torch::Tensor& tensor : tensors) {
    tensor.set_data(tensor.is_floating_point() ? tensor.to(device, dtype) : tensor.to(device));
  }
}

std::shared_ptr<Model> make_table_model(const Schema& schema, const std::vector<FieldCounts>& counts, const ModelOptions& options,
                                        const GateOptions& gate, uint64_t seed) {
  at::manual_seed(seed);
  auto encoder = std::make_shared<FieldEmbeddings>(schema, counts, options.width);
  auto head = std::make_shared<DeepHead>(encoder->width(), options.depth, options.hidden,
                                         outputs_for(static_cast<int64_t>(schema.classes.size())), options.members, options.dropout);
  return std::make_shared<Model>(encoder, head, options, gate);
}

}  // namespace l0gm
