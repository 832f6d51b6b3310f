#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "model/model.h"
#include "training/adamw.h"
#include "training/prune_options.h"

namespace l0gm {

// Prunes and rewinds a model's weights while a trainer trains it. Per step:
//   if (pruning.before_step(step)) average.reset();  … optimiser.step(factor(pruning.rate_step(step)));  pruning.apply();
class WeightPruning {
 public:
  WeightPruning(std::shared_ptr<Model> model, AdamW& optimiser, const PruneOptions& options, const GateOptions& gate,
                const Schedule& schedule, int64_t steps, uint64_t seed);

  bool before_step(int64_t step);  // true: weights are others now
  void mask_gradients();           // of pruned weights: they do not count for clipping, nor for the optimiser's means
  void apply();                    // pruned weights are 0 again
  bool finish();                   // prunes what is left to prune: training ends here; true as of before_step()
  // Whether weights may be kept as the best: none that will be pruned or rewound.
  bool is_over() const { return done_ == std::ssize(rounds_); }
  // The step whose learning rate this one has: what follows a rewinding is a training of its own, from there to the end.
  int64_t rate_step(int64_t step) const;
  bool prunes() const { return options_.share.has_value(); }
  // Weights that can be pruned, and those of them that are not 0. What no training row reaches is not counted: it is made from
  // the other weights before evaluation (Model::settle).
  std::pair<int64_t, int64_t> count() const;

  TensorMap memory() const;  // for a checkpoint
  void restore(const TensorMap& memory, const std::string& source);

 private:
  TensorMap weights() const;  // that can be pruned
  void remember();            // the early weights
  void prune(double share);
  void find_untrained();
  double share_after(int64_t round) const;

  std::shared_ptr<Model> model_;
  AdamW& optimiser_;
  PruneOptions options_;
  int64_t steps_, rewind_step_ = -1;
  uint64_t seed_;
  std::vector<int64_t> rounds_;  // steps before which there is one
  int64_t done_ = 0;
  TensorMap masks_;      // 1: left; by the name of the weight
  TensorMap untrained_;  // bool: elements that Model::settle() makes
  TensorMap early_, early_moments_;
};

}  // namespace l0gm
