// One forward pass through a model with gates: applies each gate and records the result for the loss and the control.
//   GateSite site{"interface", HardConcrete(options, torch::ones({width})), {}, {}};
//   GatePass pass(schedule.at(progress), seed, step, example_ids);
//   auto logits = head(pass.apply(site, encoder(x)));
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "l0gm/hard_concrete.h"

namespace l0gm {

class StepNumbers;

// What several units of a site need together, such as a column that is read: paid once while any of them is open.
struct SharedCosts {
  std::vector<double> own;                     // of each unit, beside what it shares
  std::vector<double> parts;                   // what each thing that is shared costs
  std::vector<std::vector<int64_t>> parts_of;  // per unit: what it needs

  // Per unit, with an equal share of its parts: adds up to the cost of all units.
  std::vector<double> spread() const;
  // The same for units of which a value says whether they are open: what such a set costs.
  double of(const std::vector<double>& open) const;
};

// A place in a model where units can be opened or closed. Control, objective, report and compaction depend only on its sites.
struct GateSite {
  std::string name;  // "interface"
  HardConcrete gate{nullptr};
  torch::Tensor index;                            // groups: the unit of each dimension; else undefined
  std::function<std::string(int64_t)> unit_name;  // on demand: sites can have millions of units
  bool at_interface = false;                      // all that the head reads passes here
  std::string noun = "units";                     // what a user calls its units: "columns"
  bool gates_are_read = true;                     // in training, besides the gated value; false spares a device writing them
  // Units that are parts of another site's (a head of its layer): they cost nothing while that one is closed.
  const GateSite* outer = nullptr;
  torch::Tensor outer_unit;  // int64 [units], on the CPU: which of its units each one is a part of
  // What a model costs beside all gated units, in the unit of the gates' costs; nothing: not known, and no speed-up can be asked
  // for. Of several sites one says it.
  std::optional<double> cost_besides;
  // Costs that units share, if there are any; the gate's own are their SharedCosts::spread().
  std::shared_ptr<const SharedCosts> shared;

  // A value per unit of the outer site as a value per unit of this one.
  torch::Tensor from_outer(const torch::Tensor& values) const;
};

// One forward pass: the state of training, the noise and the examples. It records the result of each site, so that expected cost
// and open probabilities come from the pass and not from hidden state.
class GatePass {
 public:
  // `live`: numbers of the step are read from the device's memory (a step that is captured and replayed).
  GatePass(GateState state, uint64_t seed, int64_t step, torch::Tensor example_ids, StepNumbers* live = nullptr);
  static GatePass evaluation(GateState state, torch::Tensor example_ids) { return {state, 0, 0, std::move(example_ids)}; }

  // `index`: fine units, [examples, width]; else the site's own. `ids`: keys of the noise if the rows are not the examples
  // (inside an encoder); undefined: the example ids.
  torch::Tensor apply(const GateSite& site, const torch::Tensor& r, const torch::Tensor& index = {},
                      const torch::Tensor& ids = {});
  // The factors of units that are no elements of a representation but parts of a model, one draw for all examples: [units].
  // Undefined: all are open. `sizes`: what units are ranked by, [units]; asked for only where they are ranked by magnitude.
  torch::Tensor factors(const GateSite& site, const std::function<torch::Tensor()>& sizes);
  // Dropout by the same counter-based numbers, so that a resumed run and a split batch draw the same masks.
  torch::Tensor dropout(const torch::Tensor& x, double share, int64_t place, const torch::Tensor& ids = {}) const;
  // The key of this pass's numbers at a place of dropout, for kernels that draw their own.
  NoiseKey dropout_key(int64_t place) const;

  const GateState& state() const { return state_; }
  StepNumbers* live() const { return live_; }  // null: the numbers of the state count
  const torch::Tensor& example_ids() const { return example_ids_; }

  struct Record {
    const GateSite* site;
    Gated gated;
    torch::Tensor representation;  // the input, detached
    torch::Tensor probe;           // ones whose gradient is the effect of closing; per dimension, fine units: per element; only
                                   // while ranking units
    torch::Tensor index;           // the unit of each dimension, or of each element; undefined: one unit per dimension
  };
  // What the site did in this pass; nullptr: it was not met (a dense model, a skipped layer).
  const Record* record(const GateSite& site) const;
  const Record* interface_record() const;  // of the site at the interface
  torch::Tensor expected_cost() const;     // over all sites, a scalar; undefined without sites
  torch::Tensor cost_fraction() const;     // the same as a share of the cost of all units

  // What a part of the model adds to the loss of a step by itself, such as its distance from a teacher's states.
  void add_loss(const torch::Tensor& loss) { further_loss_ = further_loss_.defined() ? further_loss_ + loss : loss; }
  const torch::Tensor& further_loss() const { return further_loss_; }  // undefined: nothing

  bool probing = false;  // rank units by gradient (static masks)

 private:
  Draw draw_at(int64_t site, const torch::Tensor& ids) const;
  GateState state_;
  uint64_t seed_;
  int64_t step_;
  torch::Tensor example_ids_;
  StepNumbers* live_;
  std::vector<Record> records_;
  torch::Tensor further_loss_;
};

}  // namespace l0gm
