#pragma once

#include <torch/nn/module.h>

#include <string>
#include <vector>

#include "data/batch.h"
#include "l0gm/gate_pass.h"

namespace l0gm {

// How an encoder's interface is divided into units, for each kind of unit that a user may ask for.
struct InterfaceUnits {
  torch::Tensor cost;                             // [units]
  torch::Tensor index;                            // groups: [width]; else undefined
  std::function<std::string(int64_t)> unit_name;
};

// Turns a batch into the interface: the representation that the head reads.
class Encoder : public torch::nn::Module {
 public:
  virtual torch::Tensor forward(const Batch& batch, GatePass& pass) = 0;  // [examples, width]
  virtual int64_t width() const = 0;
  virtual InterfaceUnits units(UnitKind kind) const = 0;
  // Fine units: which unit gates which element of this batch's interface, [examples, width].
  virtual torch::Tensor fine_index(const Batch& batch) const = 0;
  // The source of each interface dimension (a column, a channel block), by index into source_names().
  virtual std::vector<int64_t> source_of_dimension() const = 0;
  virtual std::vector<std::string> source_names() const = 0;
  // How many of the encoder's parameters serve each dimension alone and go when it is closed for good.
  virtual std::vector<int64_t> parameters_of_dimension() const = 0;
  // Which dimensions still have an open fine unit: bool [width].
  virtual torch::Tensor dimensions_of_fine_units(const torch::Tensor& open) const = 0;
  // Called before evaluation: what training rows never touched is set to something sensible.
  virtual void settle() {}
};

}  // namespace l0gm
