#pragma once

#include <optional>
#include <vector>

#include "l0gm/gate_pass.h"

namespace l0gm {

// How open a model's gates are, over all its sites, by the test rule.
struct GateFigures {
  int64_t units = 0;
  int64_t open_units = 0;               // instance logits: the mean over examples, rounded
  int64_t ever_open_units = 0;          // open for some example; equals open_units without instance logits
  double active_fraction = 1;           // open units / units
  double active_cost_fraction = 1;      // the same weighted by cost
  double expected_active_fraction = 1;  // mean P(open)
  double undecided_fraction = 0;        // share of units with P(open) in (0.1, 0.9): a trained gate has few
  // What a model costs with these units open, and with all, besides included, where the sites say what that is.
  std::optional<double> whole_cost, whole_cost_dense;
};

// Which units some example may open, by the test rule: those inside a closed unit are closed as well.
torch::Tensor open_units(const GateSite& site, const GateState& state);  // bool [units]

// From the sites alone; for instance logits give a pass over some examples, whose gates are counted.
GateFigures gate_figures(const std::vector<const GateSite*>& sites, const GateState& state, const GatePass* examples = nullptr);

}  // namespace l0gm
