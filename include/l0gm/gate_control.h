#pragma once

#include <map>
#include <string>
#include <vector>

#include "l0gm/gate_pass.h"

namespace l0gm {

// What hardening did.
struct Hardening {
  int64_t units = 0;
  int64_t open_units = 0;
  int64_t projected_units = 0;  // how many units differ from what the test rule said one step before
  bool converged = true;        // projected_units at most 5 % of the units
};

// Turns the one knob (lambda, target or k) into a price for open units, step by step, and fixes the gates at the end.
// Usage per step:  state = control.state(schedule.at(progress));  … pass …;  loss = task + control.penalty(pass);
//                  loss.backward();  optimiser.step();  control.after_step(pass);
// and once each: start_annealing() when warm-up ends, harden() when the harden phase starts. Static masks ranked by gradient also
// need pass.probing = control.wants_probe(state) before the model runs.
class GateControl {
 public:
  GateControl(const GateOptions& options, std::vector<const GateSite*> sites, uint64_t seed = 0);  // seed: random masks

  GateState state(GateState scheduled) const;         // top-k: adds the share that may pass
  torch::Tensor penalty(const GatePass& pass) const;  // undefined when there is nothing to add
  void after_step(const GatePass& pass);              // moves the price; static logits: ranks units during warm-up

  // Call when warm-up ends: static logits are picked here.
  void start_annealing(const GateState& state);
  // Call when the harden phase starts: with target and top-k opens units by falling logit while their cost stays within the
  // target.
  Hardening harden(const GateState& state);

  double price() const;  // lambda, or mu under `target`
  bool wants_probe(const GateState& state) const;
  // Everything that must survive a restart, by name.
  std::map<std::string, torch::Tensor> memory() const;
  void restore(const std::map<std::string, torch::Tensor>& memory);

 private:
  double target_share() const;                      // of the cost, under target, top-k and static
  double target_now(const GateState& state) const;  // falls from 1 to it
  std::vector<torch::Tensor> choose(const std::vector<torch::Tensor>& ranking, const std::vector<torch::Tensor>& weight) const;

  GateOptions options_;
  std::vector<const GateSite*> sites_;
  uint64_t seed_;
  double whole_cost_ = 0;
  double price_ = 0;                       // mu
  double ramp_ = 0;                        // of the step that is under way
  bool picked_ = false;                    // static: the mask is there
  std::vector<torch::Tensor> scores_;      // static: per site
  std::vector<torch::Tensor> open_share_;  // instance: running share of examples for which each unit is open
};

// `control` follows from naming lambda, target_active or k; contradictions are UserErrors. Call once options are complete.
void settle_control(GateOptions& options, bool control_named);

}  // namespace l0gm
