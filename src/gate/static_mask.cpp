#include "gate/static_mask.h"

#include <ATen/Functions.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "gate/gate_figures.h"
#include "gate/gate_target.h"
#include "gate/noise.h"
#include "gate/unit_choice.h"

namespace l0gm {

namespace {

// Scores of dimensions, or of the single elements of fine units, summed into the site's units.
torch::Tensor by_unit(const GatePass::Record& record, const torch::Tensor& scores) {
  if (!record.index.defined()) return scores;
  return at::zeros({record.site->gate->units()}, scores.options()).index_add_(0, record.index.flatten(), scores.flatten());
}

// First-order effect on the loss of closing each unit. Fine units: summed over the examples that have the unit before the sign is
// dropped, as the gradient of a dimension already is.
torch::Tensor gradient_score(const GatePass::Record& record) {
  const torch::Tensor gradient = record.probe.grad();
  return gradient.dim() == 2 ? by_unit(record, gradient).abs() : by_unit(record, gradient.abs());
}

// The size of the representation at the site: per dimension the mean over examples, for fine units per element its part of that
// mean.
torch::Tensor magnitude(const GatePass::Record& record) {
  const torch::Tensor size = record.representation.abs();
  const bool fine = record.index.defined() && record.index.dim() == 2;
  return fine ? size / static_cast<double>(size.size(0)) : size.mean(0);
}

// Units that are kept by their place, as a rank.
torch::Tensor rank_of_places(StaticBy by, int64_t units, double share) {
  const torch::Tensor place = at::arange(units, torch::kFloat64);
  if (by != StaticBy::alternate) return by == StaticBy::first ? -place : place;
  const int64_t kept = std::max<int64_t>(1, std::llround(share * static_cast<double>(units)));
  torch::Tensor rank = at::zeros({units}, torch::kFloat64);
  for (int64_t i = 0; i < kept; ++i) rank[i * units / kept] = 1;
  return rank;
}

}  // namespace

StaticMask::StaticMask(const GateOptions& options, std::vector<const GateSite*> sites, double share, int64_t annealing_steps,
                       uint64_t seed)
    : options_(options),
      sites_(std::move(sites)),
      share_(share),
      total_cost_(cost_of_all_units(sites_)),
      annealing_steps_(annealing_steps),
      seed_(seed) {
  for (const GateSite* site : sites_) scores_.push_back(at::zeros({site->gate->units()}, torch::kFloat64));
}

bool StaticMask::ranks(const GateState& state) const {
  if (options_.logits != LogitKind::fixed) return false;
  return state.phase == Phase::warmup || (state.phase == Phase::anneal && has_rounds() && rounds_ < options_.static_rounds);
}

bool StaticMask::wants_probe(const GateState& state) const { return options_.static_by == StaticBy::gradient && ranks(state); }

void StaticMask::rank(size_t site, const GatePass::Record& record) {
  if (options_.static_by == StaticBy::gradient && !record.probe.defined())
    throw std::logic_error("ranking by gradient needs GatePass::probing during warm-up");
  const torch::Tensor score = record.probe.defined() ? gradient_score(record) : by_unit(record, magnitude(record));
  scores_[site] += score.to(torch::kCPU, torch::kFloat64);
}

void StaticMask::step_done(const GateState& state) {
  if (!has_rounds() || !ranks(state) || state.phase != Phase::anneal) return;
  ++annealed_;
  const double due = static_cast<double>(rounds_ * annealing_steps_) / static_cast<double>(options_.static_rounds);
  if (static_cast<double>(annealed_) >= due) pick(state);
}

torch::Tensor StaticMask::ranking(size_t site, double share, const GateState& state) const {
  const int64_t units = sites_[site]->gate->units();
  if (options_.static_by == StaticBy::random) {
    const Draw draw{seed_, 0, static_cast<int64_t>(site), at::zeros({1}, torch::kInt64), nullptr, {}};
    return uniform_noise(draw, units, torch::kCPU)[0];
  }
  if (!options_.ranks_units()) return rank_of_places(options_.static_by, units, share);
  if (rounds_ == 1) return scores_[site];
  return scores_[site].masked_fill(open_units(*sites_[site], state).cpu().logical_not(), -1);  // what is closed stays closed
}

void StaticMask::pick(const GateState& state) {
  torch::NoGradGuard no_grad;
  ++rounds_;
  const bool more_follow = has_rounds() && rounds_ < options_.static_rounds;
  double share = share_;
  if (has_rounds()) share = 1 + (share - 1) * static_cast<double>(rounds_) / static_cast<double>(options_.static_rounds);
  std::vector<torch::Tensor> rankings, costs;
  for (size_t i = 0; i < sites_.size(); ++i) {
    rankings.push_back(ranking(i, share, state));
    costs.push_back(sites_[i]->gate->cost());
  }
  picked_ = true;
  const UnitBudget budget{share, total_cost_, more_follow ? std::nullopt : options_.k, {}};
  const auto masks = choose_units(sites_, rankings, costs, budget);
  for (size_t i = 0; i < sites_.size(); ++i) {
    HardConcrete gate = sites_[i]->gate;
    gate->force(masks[i].to(gate->logits().device()), state.tau);
    if (has_rounds()) scores_[i].zero_();
  }
}

std::map<std::string, torch::Tensor> StaticMask::memory() const {
  std::map<std::string, torch::Tensor> result;
  result["picked"] = at::full({1}, picked_ ? 1 : 0, torch::kInt64);
  for (size_t i = 0; i < sites_.size(); ++i) result[sites_[i]->name + "/scores"] = scores_[i].clone();
  if (has_rounds()) {
    result["rounds"] = at::full({1}, rounds_, torch::kInt64);
    result["annealed"] = at::full({1}, annealed_, torch::kInt64);
  }
  return result;
}

void StaticMask::restore(const std::map<std::string, torch::Tensor>& memory) {
  picked_ = memory.at("picked").item<int64_t>() != 0;
  for (size_t i = 0; i < sites_.size(); ++i) scores_[i] = memory.at(sites_[i]->name + "/scores").clone();
  if (!has_rounds()) return;
  rounds_ = memory.at("rounds").item<int64_t>();
  annealed_ = memory.at("annealed").item<int64_t>();
}

}  // namespace l0gm
