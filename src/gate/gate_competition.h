#pragma once

#include <map>
#include <string>
#include <vector>

#include "l0gm/gate_pass.h"

namespace l0gm {

// Moves logits towards a share of the cost that may stay open. A unit's worth is the rise of the task's loss per unit of cost if
// its gate opened less; the price is the worth at which just the wanted share is worth it. Logits above the price rise, the
// others fall, all at about the same speed whatever the scale of the loss, so that the number of annealing steps alone decides
// how far they come. A unit that others are parts of (GateSite::outer) saves their costs as well.
//   competition.follow(i, record, state);             // each step and site, with the gradients of the task and the price
//   const double price = competition.decide(state, 0.3);  // 30 % of the cost may be open
//   competition.move(state);
class GateCompetition {
 public:
  // rate: how far a logit moves in one step, at most. by_count: shares are of the number of units, not of their cost (top-k).
  GateCompetition(std::vector<const GateSite*> sites, int64_t annealing_steps, double rate, bool by_count = false);

  // Gradients of one step: `price_in_loss` is the price that the loss contained (see priced_cost). `live`: numbers are read there.
  void follow(size_t site, const GatePass::Record& record, const GateState& state, double price_in_loss,
              const StepNumbers* live = nullptr);
  // Sets the price where it is due; returns it, per unit of cost. Counts the step.
  double decide(const GateState& state, double wanted_share);
  void move(const GateState& state, const StepNumbers* live = nullptr);  // the logits, by one step
  void set_numbers(StepNumbers& numbers) const;  // those that follow() and move() read, as they are now

  double open_share() const { return open_share_; }  // whose logits are above the threshold, when last looked at
  const torch::Tensor& open_share_of_units(size_t site) const { return shares_[site]; }  // instance logits: of the examples
  std::map<std::string, torch::Tensor> memory() const;
  void restore(const std::map<std::string, torch::Tensor>& memory);

 private:
  int64_t steps_between_prices() const;
  double weight_of_step() const;  // in running means
  void set_price(const GateState& state, double wanted_share);
  torch::Tensor worth(size_t site, const GateState& state) const;
  // What closing each unit saves by itself, as a share of what it saves with the open units that are parts of it.
  torch::Tensor share_without_parts(size_t site, const GateState& state) const;

  std::vector<const GateSite*> sites_;
  int64_t annealing_steps_;
  double rate_;
  bool by_count_;
  double total_cost_ = 0;
  int64_t steps_ = 0;  // so far
  double price_ = 0, scale_ = 1, open_share_ = 1;
  std::vector<torch::Tensor> edges_;    // of the quadrature of E[z], on the site's device
  std::vector<torch::Tensor> benefit_;  // running mean per unit: how fast the task's loss falls with the logit
  std::vector<torch::Tensor> slope_;    // running mean: how fast the expected gate rises with it, times the cost
  std::vector<torch::Tensor> shares_;   // instance logits, running mean: share of examples for which each unit is open
};

// The sum of cost times E[z], mean over examples: what the price is paid for. P(open) would not do: at the temperatures at which
// annealing starts it is near 1 for every logit above -3, and no price could move them.
torch::Tensor priced_cost(const GatePass::Record& record, double tau);

}  // namespace l0gm
