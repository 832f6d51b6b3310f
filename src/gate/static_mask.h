#pragma once

#include <map>
#include <string>
#include <vector>

#include "l0gm/gate_options.h"
#include "l0gm/gate_pass.h"

namespace l0gm {

// Static logits: a mask of the wanted size is picked when warm-up ends, by what warm-up showed of the units, by their place or at
// random, and frozen; with static_rounds, units are closed in several rounds while gates anneal and ranked anew for each.
//   StaticMask mask(options, {&site}, 0.25, 1000, seed);
//   if (mask.ranks(state)) mask.rank(0, *pass.record(site));  mask.step_done(state);  // each step
//   mask.pick(state);                                         // when annealing starts
class StaticMask {
 public:
  // share: of the cost, that stays open in the end.
  StaticMask(const GateOptions& options, std::vector<const GateSite*> sites, double share, int64_t annealing_steps,
             uint64_t seed);

  bool ranks(const GateState& state) const;        // what units show in this step counts
  bool wants_probe(const GateState& state) const;  // it is their gradients that count
  void rank(size_t site, const GatePass::Record& record);
  void step_done(const GateState& state);  // where rounds are many, picks those that are due
  void pick(const GateState& state);
  bool picked() const { return picked_; }

  std::map<std::string, torch::Tensor> memory() const;
  void restore(const std::map<std::string, torch::Tensor>& memory);

 private:
  bool has_rounds() const { return options_.ranks_units() && options_.static_rounds > 1; }
  torch::Tensor ranking(size_t site, double share, const GateState& state) const;

  GateOptions options_;
  std::vector<const GateSite*> sites_;
  double share_, total_cost_;
  int64_t annealing_steps_;
  uint64_t seed_;
  bool picked_ = false;
  int64_t rounds_ = 0;                 // that are done
  int64_t annealed_ = 0;               // steps, counted where rounds are many
  std::vector<torch::Tensor> scores_;  // per site
};

}  // namespace l0gm
