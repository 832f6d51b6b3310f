// Trains gates to a price (lambda), a target share or a number of open units (k), and fixes them at the end.
//   GateControl control(options, {&site});
//   loss = task_loss + control.penalty(pass);  loss.backward();  control.observe(pass);  optimiser.step();
//   if (harden_starts) control.harden(state);
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "l0gm/gate_pass.h"
#include "l0gm/resolve_control.h"

namespace l0gm {

// The result of hardening.
struct Hardening {
  int64_t units = 0;
  int64_t open_units = 0;
  int64_t projected_units = 0;  // units whose state differs from the test rule's one step before
  bool converged = true;        // at most 5 % of the units, or two, were projected
  // Whether the choice had settled; of a target or k with learned logits.
  int64_t late_changes = 0;  // units that would have been open instead, or closed, before the last tenth of annealing
  double logit_spread = 0;   // standard deviation of the logits over units, before they are fixed
};

// An open unit and the closed one that could best stand in for it (units counted over all sites), where units were measured.
struct Exchange {
  int64_t open = -1, closed = -1;
  double rise = 0, error = 0;  // of the loss on the measured examples if they changed places, and its standard error
};

// Losses of examples that weights are not trained on, one each, always of the same examples, by the gates as they are.
using UnitLosses = std::function<std::vector<double>()>;
// Another set of as many units, over the units of all sites, where one is known that is better than those that are open (1).
using BetterUnits = std::function<std::optional<std::vector<uint8_t>>(const std::vector<uint8_t>& open)>;

class GateCompetition;
class StaticMask;
class UnitSearch;

// What control has to know of a run.
struct ControlPlan {
  int64_t annealing_steps = 1000;  // between warm-up and hardening
  std::optional<double> rate;      // how far a logit may move in a step; none: GateControl::learning_rate()
  uint64_t seed = 0;               // of random masks
  bool measures = false;           // look() will be called: units may be measured (GateOptions::worth)
};

// Turns the sparsity option (lambda, target, speed-up or k) into a price for open units, step by step, and fixes the gates at the
// end. Units of all sites compete for one target or k; each site keeps at least one unit, which is part of the number. Usage per
// step: state = control.state(schedule.at(progress));  … pass …;  loss = task + control.penalty(pass);
//                  loss.backward();  control.observe(pass);  optimiser.step();
// and once each: start_annealing() when warm-up ends, harden() when the harden phase starts. Static masks ranked by gradient also
// need pass.probing = control.wants_probe(state) before the model runs; those of several rounds are picked by observe(). Where
// ControlPlan::measures, before each step: if (control.wants_look(state)) control.look(losses);
class GateControl {
 public:
  GateControl(const GateOptions& options, std::vector<const GateSite*> sites, const ControlPlan& plan = {});
  ~GateControl();

  // A step size for logits with which each can cross the threshold and come back several times while annealing lasts.
  static double learning_rate(int64_t annealing_steps);
  double rate() const { return rate_; }
  std::string obstacle() const;  // why these settings cannot converge; "": they can
  // Top-k: adds what may be open, from the sites' logits as they are now.
  GateState state(GateState scheduled) const;
  torch::Tensor penalty(const GatePass& pass) const;  // undefined if there is nothing to add
  // After backward() and before the optimiser's step. With target and top-k it moves the logits, and clears their gradients so
  // that no optimiser does; with lambda the optimiser moves them. Static logits: ranks units during warm-up.
  void observe(const GatePass& pass);
  // The same in three parts, so that the first and the last can be captured on a GPU and replayed: what gradients say, what the
  // host decides, the move of the logits.
  void follow(const GatePass& pass);
  void decide(const GateState& state);
  void move(const GateState& state, StepNumbers* live = nullptr);
  // Before a step whose numbers are read from a device's memory: what follow() and penalty() read there; before move(): its own.
  bool can_be_replayed(const GateState& state) const;  // false: what a step does is up to the host
  void set_numbers(const GateState& state, StepNumbers& numbers) const;

  // Call when warm-up ends: static masks are chosen here.
  void start_annealing(const GateState& state);
  // Few units: their worth is measured, and units are closed by it. wants_look() says when.
  bool wants_look(const GateState& state) const;
  void look(const UnitLosses& losses, const BetterUnits& better = {});
  int64_t measurements() const;               // about how often all looks together ask for losses; 0: nothing is measured
  std::vector<Exchange> exchanges() const;    // as last measured; empty: nothing was
  std::string unit_name(int64_t unit) const;  // of an exchange

  // Call when the harden phase starts: with target and top-k, opens units in order of falling logit as long as their cost stays
  // within the target.
  Hardening harden(const GateState& state);

  double price() const;  // lambda, or mu under `target`
  bool wants_probe(const GateState& state) const;
  // The state to store in a checkpoint, by name.
  std::map<std::string, torch::Tensor> memory() const;
  void restore(const std::map<std::string, torch::Tensor>& memory);

 private:
  bool chooses() const { return competition_ != nullptr || search_ != nullptr; }
  bool price_is_in_loss() const;
  int64_t late_step() const;  // of annealing, from which on a tenth is left
  void remember_late_logits();
  double target_now(const GateState& state) const;   // falls from 1 to the target's share with the ramp
  void limit(GateState& state, double share) const;  // top-k: that share of the units of all sites may be open

  GateOptions options_;
  std::vector<const GateSite*> sites_;
  ControlPlan plan_;
  double rate_;
  double total_cost_;
  double target_share_;                           // of it, with target, top-k and static masks
  double price_ = 0;                              // mu
  double ramp_ = 0;                               // of the last step
  std::unique_ptr<StaticMask> mask_;              // of static logits; with others it stays empty
  std::unique_ptr<GateCompetition> competition_;  // target and top-k
  std::unique_ptr<UnitSearch> search_;            // in its place where units are measured
  int64_t annealed_ = 0;                          // steps, with target and top-k
  std::vector<torch::Tensor> late_logits_;        // per site: when a tenth of annealing was left
};

}  // namespace l0gm
