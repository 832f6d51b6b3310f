#include "training/weight_pruning.h"

#include <ATen/Functions.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/log.h"
#include "base/text.h"
#include "gate/noise.h"
#include "l0gm/error.h"

namespace l0gm {

namespace {

constexpr const char* mask_prefix = "mask/";
constexpr const char* untrained_prefix = "untrained/";
constexpr const char* early_prefix = "early/";
constexpr const char* moments_prefix = "moments/";

// Matrices of weights; not biases, the vectors of an ensemble's members, and what stands for missing and first values.
bool can_be_pruned(const std::string& name, const torch::Tensor& parameter) {
  if (parameter.dim() < 2) return false;
  const std::string last = name.substr(name.rfind('.') + 1);
  const auto is_vector = [&](const std::string& kind) {
    return last.starts_with(kind) && last.find_first_not_of("0123456789", kind.size()) == std::string::npos;
  };
  return !last.starts_with("bias") && !is_vector("in") && !is_vector("out") && last != "missing" && last != "starts" &&
         last != "frequencies";
}

// The first step that comes after gates are fixed.
int64_t first_hardened_step(const Schedule& schedule, int64_t steps) {
  for (int64_t step = 0; step < steps; ++step) {
    if (schedule.at(static_cast<double>(step) / static_cast<double>(steps)).phase == Phase::harden) return step;
  }
  return steps - 1;
}

// The `kept` largest scores, ties by place.
torch::Tensor largest(const torch::Tensor& scores, int64_t kept) {
  const torch::Tensor order = std::get<1>(scores.sort(/*stable=*/true, /*dim=*/0, /*descending=*/true));
  return at::zeros_like(scores).index_fill_(0, order.narrow(0, 0, kept), 1);
}

int64_t share_of(double share, int64_t count) {
  return count == 0 ? 0 : std::max<int64_t>(1, std::llround(share * static_cast<double>(count)));
}

}  // namespace

void check_pruning(const PruneOptions& options, const GateOptions& gate, const ScheduleOptions& schedule) {
  if (options.share && gate.unit != UnitKind::none) {
    throw UserError(fmt::format("prune.share = {} prunes the weights of a dense model, and gate.unit is {}: set gate.unit = none",
                                shortest(*options.share), name_of_enum(gate.unit)));
  }
  const bool mask = gate.unit != UnitKind::none && gate.logits == LogitKind::fixed && schedule.kind == ScheduleKind::anneal;
  if (options.rewind && !options.share && !mask) {
    throw UserError("prune.rewind goes with prune.share (a ticket of weights) or with gate.logits = static (one of units)");
  }
  const double end = options.share ? options.until / static_cast<double>(options.rounds) : schedule.anneal_until;
  if (options.rewind && *options.rewind >= end) {
    throw UserError(fmt::format("prune.rewind = {} is not before the first round, which comes after {} of the steps",
                                shortest(*options.rewind), shortest(end)));
  }
}

WeightPruning::WeightPruning(std::shared_ptr<Model> model, AdamW& optimiser, const PruneOptions& options, const GateOptions& gate,
                             const Schedule& schedule, int64_t steps, uint64_t seed)
    : model_(std::move(model)), optimiser_(optimiser), options_(options), steps_(steps), seed_(seed) {
  check_pruning(options, gate, schedule.options());
  const auto at_share = [&](double share) { return static_cast<int64_t>(std::floor(share * static_cast<double>(steps))); };
  if (options.rewind) rewind_step_ = at_share(*options.rewind);
  if (options.share) {
    for (int64_t round = 1; round <= options.rounds; ++round)
      rounds_.push_back(at_share(options.until * static_cast<double>(round) / static_cast<double>(options.rounds)));
  } else if (options.rewind) {
    rounds_.push_back(first_hardened_step(schedule, steps));
  }
  if (options.share) {  // kept where they are: a step that was captured on a device reads them there
    for (const auto& [name, weight] : weights()) masks_[name] = at::ones_like(weight.detach());
  }
  const bool apart = std::adjacent_find(rounds_.begin(), rounds_.end()) == rounds_.end();
  if (!rounds_.empty() && (!apart || rounds_[0] <= rewind_step_ || rounds_[0] < 1 || rounds_.back() >= steps)) {
    throw UserError(
        fmt::format("{} steps are too few for {} rounds of pruning (prune.rounds, prune.until, prune.rewind): train "
                    "longer",
                    steps, rounds_.size()));
  }
}

TensorMap WeightPruning::weights() const {
  TensorMap weights = model_->trained_weights();
  std::erase_if(weights, [](const auto& item) { return !can_be_pruned(item.first, item.second); });
  return weights;
}

// Each round takes the same part of what is left.
double WeightPruning::share_after(int64_t round) const {
  return std::pow(*options_.share, static_cast<double>(round) / static_cast<double>(rounds_.size()));
}

bool WeightPruning::before_step(int64_t step) {
  if (is_over()) return false;
  if (step == rewind_step_ && early_.empty()) remember();
  if (step < rounds_[static_cast<size_t>(done_)]) return false;
  ++done_;
  if (options_.share) prune(share_after(done_));
  if (!early_.empty()) {
    copy_into(early_, model_->trained_weights(), "early weights");
    optimiser_.restore(early_moments_, "moments of the early weights");
  }
  apply();
  if (is_over()) {
    early_.clear();
    early_moments_.clear();
  }
  return true;
}

bool WeightPruning::finish() {
  if (is_over()) return false;
  done_ = std::ssize(rounds_);
  if (options_.share) prune(*options_.share);
  apply();
  return true;
}

void WeightPruning::remember() {
  early_ = cloned(model_->trained_weights());
  early_moments_ = cloned(optimiser_.state());
}

int64_t WeightPruning::rate_step(int64_t step) const {
  if (rewind_step_ < 0 || rounds_.empty()) return step;
  // Trainings that end at each round, and one to the last step; all but the first begin at the early weights.
  const int64_t begin = done_ == 0 ? 0 : rounds_[static_cast<size_t>(done_ - 1)];
  const int64_t end = is_over() ? steps_ : rounds_[static_cast<size_t>(done_)];
  const int64_t from = done_ == 0 ? 0 : rewind_step_;
  return std::min(steps_ - 1, from + (step - begin) * (steps_ - from) / std::max<int64_t>(1, end - begin));
}

// What Model::settle() changes is no weight of its own.
void WeightPruning::find_untrained() {
  if (!untrained_.empty()) return;
  torch::NoGradGuard no_grad;
  const TensorMap before = cloned(model_->trained_weights());
  model_->settle();
  for (const auto& [name, weight] : weights()) untrained_[name] = weight.ne(before.at(name));
  copy_into(before, model_->trained_weights(), "weights before they were settled");
}

void WeightPruning::prune(double share) {
  torch::NoGradGuard no_grad;
  find_untrained();
  const TensorMap all = weights();
  TensorMap scores;  // of trained weights; the others below any
  std::map<std::string, int64_t> trained;
  int64_t place = 0, count = 0, left = 0;
  for (const auto& [name, weight] : all) {
    const torch::Tensor flat = weight.detach().flatten(), untrained = untrained_.at(name).flatten();
    torch::Tensor score = flat.abs().to(torch::kFloat64);
    if (options_.by == PruneBy::random) {
      const Draw draw{seed_, 0, place, at::zeros({1}, torch::kInt64), nullptr, {}};
      score = uniform_noise(draw, flat.numel(), torch::kCPU)[0].to(flat.device(), torch::kFloat64);
    }
    score.masked_fill_(masks_.at(name).flatten().eq(0), -1);  // what is pruned stays so
    scores[name] = score.masked_fill(untrained, -2);
    trained[name] = flat.numel() - untrained.sum().item<int64_t>();
    count += trained[name];
    ++place;
  }
  torch::Tensor together;
  if (options_.scope == PruneScope::model) {
    std::vector<torch::Tensor> parts;
    for (const auto& [name, score] : scores) parts.push_back(score);
    together = largest(at::cat(parts), share_of(share, count));
  }
  place = 0;
  for (const auto& [name, score] : scores) {
    torch::Tensor mask =
        together.defined() ? together.narrow(0, place, score.numel()).clone() : largest(score, share_of(share, trained.at(name)));
    place += score.numel();
    left += mask.sum().item<int64_t>();
    mask.masked_fill_(untrained_.at(name).flatten(), 1);
    masks_.at(name).copy_(mask.view_as(all.at(name)));
  }
  log_info(fmt::format("weights pruned, round {} of {}: {} of {} left", done_, rounds_.size(), with_thousands(left),
                       with_thousands(count)));
}

void WeightPruning::mask_gradients() {
  if (masks_.empty()) return;
  torch::NoGradGuard no_grad;
  for (auto& [name, weight] : weights()) {
    if (weight.grad().defined()) torch::Tensor(weight.grad()).mul_(masks_.at(name));
  }
}

void WeightPruning::apply() {
  if (masks_.empty()) return;
  torch::NoGradGuard no_grad;
  for (auto& [name, weight] : weights()) torch::Tensor(weight).mul_(masks_.at(name));
}

std::pair<int64_t, int64_t> WeightPruning::count() const {
  torch::NoGradGuard no_grad;
  int64_t all = 0, left = 0;
  for (const auto& [name, weight] : weights()) {
    const auto found = untrained_.find(name);
    const torch::Tensor trained = found == untrained_.end() ? at::ones_like(weight, torch::kBool) : found->second.logical_not();
    all += trained.sum().item<int64_t>();
    left += weight.ne(0).logical_and(trained).sum().item<int64_t>();
  }
  return {all, left};
}

TensorMap WeightPruning::memory() const {
  TensorMap memory;
  if (rounds_.empty()) return memory;
  memory["done"] = at::full({1}, done_, torch::kInt64);
  add_with_prefix(memory, mask_prefix, masks_);
  add_with_prefix(memory, untrained_prefix, untrained_);
  add_with_prefix(memory, early_prefix, early_);
  add_with_prefix(memory, moments_prefix, early_moments_);
  return memory;
}

void WeightPruning::restore(const TensorMap& memory, const std::string& source) {
  if (rounds_.empty()) return;
  const auto done = memory.find("done");
  if (done == memory.end()) throw UserError(source + " is not a checkpoint of a run that prunes");
  done_ = done->second.item<int64_t>();
  const TensorMap all = model_->trained_weights();
  const auto taken = [&](const char* prefix) {
    TensorMap found = with_prefix(memory, prefix);
    for (auto& [name, tensor] : found) {
      const auto weight = all.find(name);
      if (weight == all.end() || weight->second.sizes() != tensor.sizes())
        throw UserError(fmt::format("{}: {}{} does not fit the model", source, prefix, name));
      tensor = tensor.to(weight->second.device());
    }
    return found;
  };
  copy_into(with_prefix(memory, mask_prefix), masks_, source);
  untrained_ = taken(untrained_prefix);
  early_ = taken(early_prefix);
  early_moments_ = with_prefix(memory, moments_prefix);
}

}  // namespace l0gm
