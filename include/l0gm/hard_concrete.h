// A hard concrete gate (Louizos et al. 2018) as a LibTorch module.
//   HardConcrete gate(GateOptions{}, torch::ones({width}));  // the cost of each unit
//   auto gated = gate->forward(r, state, draw);
//   loss = task(head(gated.value)) + lambda * state.ramp * gated.expected_open;
#pragma once

#include <torch/nn/module.h>
#include <torch/nn/pimpl.h>
#include <torch/types.h>

#include "l0gm/gate_options.h"
#include "l0gm/noise_key.h"
#include "l0gm/schedule.h"

namespace l0gm {

// The noise of a forward pass: a pure function of these numbers, independent of batch and number of processes.
struct Draw {
  uint64_t seed = 0;
  int64_t step = 0;
  int64_t site = 0;
  torch::Tensor example_ids;  // int64, one per row of r
  // Of a step that is captured and replayed: where its key and temperature are, on the device. Else null and undefined.
  const uint64_t* live_key = nullptr;
  torch::Tensor live_tau = {};  // float64, a scalar
};

// u in [2^-24, 1 - 2^-24], float32, [examples, width]: element (id, j) depends on the draw's numbers, id and j only.
torch::Tensor uniform_noise(const Draw& draw, int64_t width, torch::Device device);

struct Gated {
  torch::Tensor value;             // r times the gates
  torch::Tensor gates;             // the factors of r; undefined while all are open, and where they are not wanted
  torch::Tensor logits;            // [units], with instance logits [examples, units]
  torch::Tensor open_probability;  // P(z > 0): [units], with instance logits [examples, units]
  torch::Tensor expected_open;     // sum of cost times P(open), mean over examples: a scalar for the loss
};

// A gate over the units of a representation; the temperature comes from the schedule (GateState). In training mode gates are
// sampled; eval() applies the test rule. In Phase::warmup all are open, in Phase::harden both modes apply the test rule to frozen
// logits. No state is kept between calls but the parameters.
class HardConcreteImpl : public torch::nn::Module {
 public:
  // `cost`: one per unit. `width`: dimensions of the representation (needed by instance logits only; 0: as many as units).
  HardConcreteImpl(const GateOptions& options, torch::Tensor cost, int64_t width = 0);

  // `index` says which unit gates which element of r: undefined = one unit per dimension; [width] = groups; [examples, width] =
  // fine. `gates_wanted` = false: Gated::gates may stay undefined in training, which spares a device writing them.
  Gated forward(const torch::Tensor& r, const GateState& state, const Draw& draw, const torch::Tensor& index = {},
                bool gates_wanted = true);

  int64_t units() const { return cost_.size(0); }
  const GateOptions& options() const { return options_; }
  const torch::Tensor& cost() const { return cost_; }
  torch::Tensor& logits() { return logits_; }
  const torch::Tensor& logits() const { return logits_; }

  // P(open) of each unit at temperature tau; instance logits: at the middle of their range.
  torch::Tensor open_probability(double tau) const;
  // The test rule's value of each unit, from the global part of the logits: [units]. At least one is open.
  torch::Tensor test_values(const GateState& state) const;
  // Units that may be open for some input: with instance logits, those whose largest possible logit passes the rule.
  torch::Tensor ever_open(const GateState& state) const;
  // The logit above which the test rule opens a unit.
  double open_logit(double tau) const;
  // Moves logits just far enough that the test rule opens exactly the units of `open` (bool, [units]). Used by hardening and by
  // masks.
  void force(const torch::Tensor& open, double tau);

  bool has_instance_logits() const { return options_.logits == LogitKind::instance; }
  torch::Tensor range() const;  // b >= 0: how far an example may move each logit
  // Instance logits are logits + range * tanh((r * alive) in out); in: undefined where the map is full.
  struct Map {
    torch::Tensor in, out;
  };
  Map map() const { return {map_in_, map_out_}; }
  // 1 for the units that top-k lets open: those above the state's threshold over all sites, or that share of the units here with
  // the largest logits. At least one.
  torch::Tensor keep_mask(const GateState& state) const;

 private:
  torch::Tensor example_logits(const torch::Tensor& r, const GateState& state, const torch::Tensor& index) const;
  torch::Tensor rule(const torch::Tensor& logits, double tau) const;

  GateOptions options_;
  torch::Tensor cost_, logits_;
  torch::Tensor range_, map_in_, map_out_;  // instance logits: a + softplus(range) tanh((r * alive) map_in map_out)
};
TORCH_MODULE(HardConcrete);

}  // namespace l0gm
