#include "model/model.h"

#include <ATen/Functions.h>
#include <fmt/format.h>

#include <algorithm>

#include "l0gm/error.h"

namespace l0gm {

namespace {
void require_structure(const GateOptions& gate, const Encoder& encoder) {
  const bool input_alone = gate.attach == Attach::input || gate.attach == EnumSet<Attach>{Attach::input, Attach::hidden};
  if (gate.attach.has(Attach::input) && !input_alone)
    throw UserError(fmt::format("gate.attach = {}: a gate on the input goes with no other but hidden", gate.attach.names()));
  if (gate.on_structure() && !encoder.has_structure()) {
    throw UserError(
        fmt::format("gate.attach = {}: heads, ffn and layers are parts of a text encoder; here the gate sits at the "
                    "interface or on the input",
                    gate.attach.names()));
  }
  const bool priced_by_parts = gate.cost == UnitCost::flops || gate.cost == UnitCost::latency;
  if (priced_by_parts && !gate.on_structure()) {
    throw UserError(fmt::format("gate.cost = {} is what heads, ffn and layers of a text encoder cost; found gate.attach = {}",
                                name_of_enum(gate.cost), gate.attach.names()));
  }
  if (gate.cost == UnitCost::serving && !encoder.has_serving_costs()) {
    throw UserError(
        "gate.cost = serving is what a row of a table costs when its compact file is served; here take unit or memory, for the "
        "structure of a text encoder flops or latency");
  }
}

}  // namespace

Model::Model(std::shared_ptr<Encoder> encoder, std::shared_ptr<Head> head, double interface_dropout, const GateOptions& gate)
    : encoder_(std::move(encoder)),
      head_(std::move(head)),
      interface_dropout_(interface_dropout),
      unit_(gate.unit),
      attach_(gate.attach.has(Attach::input) ? Attach::input : Attach::interface) {
  register_module("encoder", encoder_);
  register_module("head", head_);
  if (unit_ == UnitKind::none) return;
  require_structure(gate, *encoder_);
  head_sites_ = head_->make_sites(gate);
  if (gate.attach.has(Attach::hidden) && head_sites_.empty()) {
    throw UserError(
        "gate.attach = hidden gates the neurons of a table's deep branch: it needs model.name = mlp, wide-deep, deepfm or "
        "xdeepfm "
        "and model.depth of 1 at least. Graphs have gate.unit = fine (a channel of each layer), texts gate.attach = ffn");
  }
  inner_sites_ = encoder_->make_sites(gate);
  for (const auto& site : inner_sites_) register_module("gate_" + site->name, site->gate.ptr());
  for (const auto& site : head_sites_) register_module("gate_" + site->name, site->gate.ptr());
  if (gate.attach == Attach::hidden || !encoder_->gated_at_interface(gate)) return;
  InterfaceUnits units = encoder_->units(unit_, attach_);
  site_ = std::make_unique<GateSite>();
  site_->name = name_of_enum(attach_);
  site_->at_interface = true;
  site_->gates_are_read = head_->reads_gates();
  site_->gate = HardConcrete(gate, units.cost_under(gate), encoder_->width());
  if (units.index.defined()) site_->index = register_buffer("unit_of_dimension", units.index);
  site_->unit_name = units.unit_name;
  site_->noun = units.noun;
  site_->shared = units.shared;
  site_->cost_besides = units.cost_besides;
  register_module("gate", site_->gate.ptr());
}

torch::Tensor Model::interface(const Batch& batch, GatePass& pass) { return gated(encoder_->forward(batch, pass), batch, pass); }

torch::Tensor Model::gated(const torch::Tensor& r, const Batch& batch, GatePass& pass) {
  if (selected_.defined()) return r.index_select(1, selected_);
  if (site_ == nullptr) return r;
  return pass.apply(*site_, r, fine_units() != nullptr ? fine_units()->fine_index(batch, attach_) : torch::Tensor{});
}

torch::Tensor Model::forward(const Batch& batch, GatePass& pass) {
  return forward_from(encoder_->forward(batch, pass), batch, pass);
}

torch::Tensor Model::forward_from(const torch::Tensor& encoded, const Batch& batch, GatePass& pass) {
  const torch::Tensor r = gated(encoded, batch, pass);
  return is_training() ? head_->forward_dropping(r, interface_dropout_, batch, pass) : head_->forward(r, batch, pass);
}

bool Model::narrow(const GateState& state) {
  if (site_ == nullptr) return true;
  if (site_->gate->has_instance_logits() || fine_units() != nullptr) return false;
  torch::NoGradGuard no_grad;
  torch::Tensor values = site_->gate->test_values(state);
  if (site_->index.defined()) values = values.index_select(0, site_->index);
  const torch::Tensor kept = values.gt(0).nonzero().squeeze(1);
  if (!encoder_->narrow(kept)) select(kept);
  head_->narrow(kept, values.index_select(0, kept));
  unregister_module("gate");
  site_ = nullptr;
  return true;
}

void Model::select(const torch::Tensor& kept) { selected_ = register_buffer("selected", kept); }

void Model::settle() {
  encoder_->settle();
  head_->settle();
}

std::vector<const GateSite*> Model::sites() const {
  std::vector<const GateSite*> sites;
  for (const auto& site : inner_sites_) sites.push_back(site.get());
  if (site_ != nullptr) sites.push_back(site_.get());
  for (const auto& site : head_sites_) sites.push_back(site.get());
  return sites;
}

namespace {

void add_parameters(TensorMap& to, const std::string& prefix, const torch::nn::Module& module) {
  for (const auto& item : module.named_parameters()) to[prefix + "." + item.key()] = item.value();
}

}  // namespace

TensorMap Model::weights() const {
  TensorMap weights;
  add_parameters(weights, "encoder", *encoder_);
  add_parameters(weights, "head", *head_);
  return weights;
}

TensorMap Model::gates() const {
  TensorMap gates;
  for (const auto& site : inner_sites_) add_parameters(gates, "gate_" + site->name, *site->gate);
  for (const auto& site : head_sites_) add_parameters(gates, "gate_" + site->name, *site->gate);
  if (site_ != nullptr) add_parameters(gates, "gate", *site_->gate);
  return gates;
}

TensorMap Model::trained_weights() const {
  TensorMap weights;
  if (!encoder_->frozen()) add_parameters(weights, "encoder", *encoder_);
  add_parameters(weights, "head", *head_);
  return weights;
}

TensorMap Model::state() const {
  TensorMap state = trained_weights();
  for (const auto& [name, parameter] : gates()) state[name] = parameter;
  for (const auto& [name, buffer] : encoder_->learned_buffers()) state["encoder." + name] = buffer;
  return state;
}

Model::ParameterGroups Model::parameter_groups() const {
  ParameterGroups groups;
  const std::map<std::string, double> rates = encoder_->rate_of_parameters();
  for (const auto& item : encoder_->named_parameters()) {
    if (encoder_->frozen()) break;
    const auto rate = rates.find(item.key());
    groups.encoder[rate == rates.end() ? 1 : rate->second]["encoder." + item.key()] = item.value();
  }
  add_parameters(groups.head, "head", *head_);
  std::vector<torch::Tensor> maps;
  for (const GateSite* site : sites()) {
    const HardConcreteImpl::Map map = site->gate->map();
    for (const torch::Tensor& part : {map.in, map.out}) {
      if (part.defined()) maps.push_back(part);
    }
  }
  for (const auto& [name, parameter] : gates()) {
    const bool of_map = std::any_of(maps.begin(), maps.end(), [&](const torch::Tensor& map) { return map.is_same(parameter); });
    (of_map ? groups.encoder[1] : groups.logits)[name] = parameter;
  }
  return groups;
}

bool is_gate_name(const std::string& name) { return name.starts_with("gate.") || name.starts_with("gate_"); }

torch::Tensor Model::open_dimensions(const GateState& state) const {
  if (site_ == nullptr) return at::ones({encoder_->width()}, torch::kBool);
  const torch::Tensor open = site_->gate->ever_open(state).cpu();
  if (fine_units() != nullptr) return fine_units()->dimensions_of_fine_units(open, attach_);
  return site_->index.defined() ? open.index_select(0, site_->index.cpu()) : open;
}

int64_t Model::parameter_count() const {
  int64_t count = encoder_->shared_parameters();
  for (const int64_t of_dimension : encoder_->parameters_of_dimension()) count += of_dimension;
  return count + head_->parameters_with(at::ones({selected_.defined() ? selected_.size(0) : encoder_->width()}, torch::kBool));
}

int64_t Model::parameter_count(const torch::Tensor& kept) const {
  const std::vector<int64_t> of_dimension = encoder_->parameters_of_dimension();
  int64_t count = head_->parameters_with(kept) + encoder_->shared_parameters();
  for (int64_t d = 0; d < encoder_->width(); ++d) count += kept[d].item<bool>() ? of_dimension[static_cast<size_t>(d)] : 0;
  return count;
}

int64_t Model::parameter_count(const GateState& state) const {
  const torch::Tensor kept = open_dimensions(state);
  return parameter_count(kept) - head_->parameters_of_closed(kept, state);
}

void place(Model& model, torch::Device device, torch::Dtype dtype) {
  std::vector<torch::Tensor> tensors = model.parameters();
  for (const torch::Tensor& buffer : model.buffers()) tensors.push_back(buffer);
  for (torch::Tensor& tensor : tensors) {
    tensor.set_data(tensor.is_floating_point() ? tensor.to(device, dtype) : tensor.to(device));
  }
}

}  // namespace l0gm
