#pragma once

#include <ATen/Functions.h>
#include <torch/nn/module.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "batches/batch.h"
#include "l0gm/gate_pass.h"

namespace l0gm {

// How an encoder's interface is divided into units, for one kind of unit.
struct InterfaceUnits {
  torch::Tensor cost;   // [units]; groups: their dimensions
  torch::Tensor index;  // the unit of each dimension, [width]; undefined: one each, or fine
  std::function<std::string(int64_t)> unit_name;
  std::string noun = "units";                           // what a user calls them: "columns"
  std::shared_ptr<const SharedCosts> shared = nullptr;  // costs that they share; `cost` is then their spread()
  std::optional<double> cost_besides = std::nullopt;    // of a model whose units are all closed

  torch::Tensor cost_under(const GateOptions& gate) const {
    return gate.unit == UnitKind::group && gate.cost == UnitCost::unit ? at::ones_like(cost) : cost;
  }
};

// Units finer than the interface: which of them gates an element depends on the example.
class FineUnits {
 public:
  virtual ~FineUnits() = default;
  // Which unit gates which element of this batch's interface, [examples, width].
  virtual torch::Tensor fine_index(const Batch& batch, Attach attach) const = 0;
  // Which dimensions still have an open unit: bool [width].
  virtual torch::Tensor dimensions_of_fine_units(const torch::Tensor& open, Attach attach) const = 0;
};

// Turns a batch into the interface: the representation that the head reads.
class Encoder : public torch::nn::Module {
 public:
  virtual torch::Tensor forward(const Batch& batch, GatePass& pass) = 0;  // [examples, width]
  virtual int64_t width() const = 0;
  // Attach::interface: units of the interface. Attach::input: of what the encoder reads; a unit still gates dimensions of the
  // interface, all those that its input feeds.
  virtual InterfaceUnits units(UnitKind kind, Attach attach) const = 0;
  // Fine units that differ from example to example (a table's values); nullptr: the encoder has none.
  virtual const FineUnits* fine_units() const { return nullptr; }
  // The number of the encoder's parameters that only this dimension uses and that are removed with it; the number of all others.
  virtual std::vector<int64_t> parameters_of_dimension() const = 0;
  virtual int64_t shared_parameters() const { return 0; }
  // Gate sites inside the encoder, in the order in which forward() applies them; the model owns their gates and adds a site at
  // the interface if gated_at_interface() returns true. Called once, before the first pass.
  virtual std::vector<std::shared_ptr<GateSite>> make_sites(const GateOptions&) { return {}; }
  // Whether gates can be on its heads, ffn and layers (Attach).
  virtual bool has_structure() const { return false; }
  // Whether it knows what its units cost when they are served (UnitCost::serving).
  virtual bool has_serving_costs() const { return false; }
  virtual bool gated_at_interface(const GateOptions&) const { return true; }
  // Computes only the interface dimensions `kept` (int64, ascending) from now on, if leaving the others out does not change
  // these; returns false, and keeps its width, if it does.
  virtual bool narrow(const torch::Tensor&) { return false; }
  // Buffers that training changes and a checkpoint must hold, by name below the encoder; others are made anew by the constructor.
  virtual std::map<std::string, torch::Tensor> learned_buffers() const { return {}; }
  // Whether its parameters stay as they were read: they are neither trained nor part of a checkpoint.
  virtual bool frozen() const { return false; }
  // Shares of the encoder's learning rate by the name of a parameter below the encoder; those that are not named have all of it.
  virtual std::map<std::string, double> rate_of_parameters() const { return {}; }
  // Called before evaluation: sets embeddings that no training row has used to a mean (see FieldRows::settle).
  virtual void settle() {}
};

}  // namespace l0gm
