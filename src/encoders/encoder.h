#pragma once

#include <torch/nn/module.h>

#include <string>
#include <vector>

#include "batches/batch.h"
#include "l0gm/gate_pass.h"

namespace l0gm {

// How an encoder's interface is divided into units, for each kind of unit that a user may ask for.
struct InterfaceUnits {
  torch::Tensor cost;   // [units]
  torch::Tensor index;  // the unit of each dimension, [width]; undefined: one each, or fine
  std::function<std::string(int64_t)> unit_name;
};

// Turns a batch into the interface: the representation that the head reads.
class Encoder : public torch::nn::Module {
 public:
  virtual torch::Tensor forward(const Batch& batch, GatePass& pass) = 0;  // [examples, width]
  virtual int64_t width() const = 0;
  // Attach::interface: units of the interface. Attach::input: of what the encoder reads; a unit still gates dimensions of the
  // interface, all those that its input feeds.
  virtual InterfaceUnits units(UnitKind kind, Attach attach) const = 0;
  // Whether units of this kind differ from example to example (fine units of a table's values).
  virtual bool has_units_of_examples(UnitKind kind) const { return kind == UnitKind::fine; }
  // Fine units: which unit gates which element of this batch's interface, [examples, width].
  virtual torch::Tensor fine_index(const Batch& batch, Attach attach) const = 0;
  // Which dimensions still have an open fine unit: bool [width].
  virtual torch::Tensor dimensions_of_fine_units(const torch::Tensor& open, Attach attach) const = 0;
  // The columns (channels) of the user's data that each interface dimension is made from, by index into column_names().
  virtual std::vector<std::vector<int64_t>> columns_of_dimension() const = 0;
  virtual std::vector<std::string> column_names() const = 0;
  // How many of the encoder's parameters serve each dimension alone and go when it is closed for good; how many serve several.
  virtual std::vector<int64_t> parameters_of_dimension() const = 0;
  virtual int64_t shared_parameters() const { return 0; }
  // Gate sites inside the encoder, in the order in which forward() applies them; the model owns their gates and adds a site at
  // the interface unless the encoder says no. Called once, before the first pass.
  virtual std::vector<std::shared_ptr<GateSite>> make_sites(const GateOptions&) { return {}; }
  virtual bool gated_at_interface(const GateOptions&) const { return true; }
  // Keeps the interface dimensions `kept` (int64, ascending) and computes no others from now on, where leaving them out does not
  // change the rest; false: it cannot, and keeps its width.
  virtual bool narrow(const torch::Tensor&) { return false; }
  // Called before evaluation: what training rows never touched is set to something sensible.
  virtual void settle() {}
};

}  // namespace l0gm
