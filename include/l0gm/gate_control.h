// Trains gates to a price (lambda), a target share or a number of open units (k), and fixes them at the end.
//   GateControl control(options, {&site});
//   loss = task_loss + control.penalty(pass);  loss.backward();  optimiser.step();  control.after_step(pass);
//   if (harden_starts) control.harden(state);
#pragma once

#include <map>
#include <string>
#include <vector>

#include "l0gm/gate_pass.h"

namespace l0gm {

// The result of hardening.
struct Hardening {
  int64_t units = 0;
  int64_t open_units = 0;
  int64_t projected_units = 0;  // units whose state differs from the test rule's one step before
  bool converged = true;        // at most 5 % of the units, or two, were projected
};

// Turns the sparsity option (lambda, target or k) into a price for open units, step by step, and fixes the gates at the end.
// Units of all sites compete for one target or k; each site keeps at least one unit, which is part of the number. Usage per step:
// state = control.state(schedule.at(progress));  … pass …;  loss = task + control.penalty(pass);
//                  loss.backward();  optimiser.step();  control.after_step(pass);
// and once each: start_annealing() when warm-up ends, harden() when the harden phase starts. Static masks ranked by gradient also
// need pass.probing = control.wants_probe(state) before the model runs.
class GateControl {
 public:
  GateControl(const GateOptions& options, std::vector<const GateSite*> sites, uint64_t seed = 0);  // seed: random masks

  // Top-k: adds what may be open, from the sites' logits as they are now.
  GateState state(GateState scheduled) const;
  torch::Tensor penalty(const GatePass& pass) const;  // undefined if there is nothing to add
  void after_step(const GatePass& pass);              // updates the price; static logits: ranks units during warm-up

  // Call when warm-up ends: static masks are chosen here.
  void start_annealing(const GateState& state);
  // Call when the harden phase starts: with target and top-k, opens units in order of falling logit as long as their cost stays
  // within the target.
  Hardening harden(const GateState& state);

  double price() const;  // lambda, or mu under `target`
  bool wants_probe(const GateState& state) const;
  // The state to store in a checkpoint, by name.
  std::map<std::string, torch::Tensor> memory() const;
  void restore(const std::map<std::string, torch::Tensor>& memory);

 private:
  double target_share() const;                       // share of the cost, with target, top-k and static masks
  double target_now(const GateState& state) const;   // falls from 1 to target_share() with the ramp
  void limit(GateState& state, double share) const;  // top-k: that share of the units of all sites may be open
  std::vector<torch::Tensor> choose(const std::vector<torch::Tensor>& ranking, const std::vector<torch::Tensor>& weight) const;

  GateOptions options_;
  std::vector<const GateSite*> sites_;
  uint64_t seed_;
  double total_cost_ = 0;
  double price_ = 0;                       // mu
  double ramp_ = 0;                        // of the last step
  bool picked_ = false;                    // static: the mask has been chosen
  std::vector<torch::Tensor> scores_;      // static: per site
  std::vector<torch::Tensor> open_share_;  // instance: running share of examples for which each unit is open
};

// Sets `control` from whichever of lambda, target_active and k is given; contradictions are UserErrors. Call once, after all
// options are set. control_named: the user set `control` explicitly.
void resolve_control(GateOptions& options, bool control_named);

}  // namespace l0gm
