#pragma once

#include <cstdint>
#include <optional>

#include "l0gm/gate_options.h"
#include "l0gm/options.h"
#include "l0gm/schedule.h"

// Baselines that need no gate: weights pruned by their size, and lottery tickets, whose weights go back to what they were early.
namespace l0gm {

enum class PruneBy { magnitude, random };
enum class PruneScope { layer, model };

template <>
inline constexpr auto enum_names<PruneBy> = std::to_array<std::string_view>({"magnitude", "random"});
template <>
inline constexpr auto enum_names<PruneScope> = std::to_array<std::string_view>({"layer", "model"});

struct PruneOptions {
  std::optional<double> share;
  PruneBy by = PruneBy::magnitude;
  PruneScope scope = PruneScope::layer;
  int64_t rounds = 1;
  double until = 0.5;
  std::optional<double> rewind;

  template <class Visitor>
  void visit(Visitor& v) {
    v("share", share,
      "share of a dense model's weights that is left; the others are 0 for good. Biases, norms and what stands for missing "
      "values "
      "stay. Unset: no weight is pruned",
      Limit{0, 1, true, false});
    v("by", by, "which weights are left: the largest, or any").refused_unless("prune.share is set");
    v("scope", scope, "the share holds in each weight matrix, or in all of them together").refused_unless("prune.share is set");
    v("rounds", rounds, "in how many rounds weights are pruned, each taking the same part of those that are left",
      between(1, 100))
        .refused_unless("prune.share is set");
    v("until", until, "share of the steps after which the last round comes; rounds are evenly spread before", inside(0, 1))
        .refused_unless("prune.share is set");
    v("rewind", rewind,
      "lottery ticket: after each round weights go back to what they were after this share of the steps, and the learning rate "
      "with them; needs `prune.share`, or a mask of the interface (`gate.logits = static`): then weights go back when gates are "
      "fixed. Unset: training goes on with the weights as they are",
      Limit{0, 1, false, true});
  }
};

// UserError where it does not fit the gate.
void check_pruning(const PruneOptions& options, const GateOptions& gate, const ScheduleOptions& schedule);

}  // namespace l0gm
