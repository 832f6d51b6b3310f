#pragma once

#include <optional>
#include <string>
#include <vector>

#include "study/engine.h"
#include "study/line.h"
#include "study/run_cells.h"

namespace l0gm {

// Many runs of one configuration that differ in how much stays open.
struct SweepOptions {
  std::vector<double> lambdas;  // prices of an open unit; or
  std::vector<double> targets;  // shares that stay open
  int64_t seeds = 3;
  bool dense = true;         // and without a gate, as the reference
  bool warm_starts = false;  // each price starts from the weights of the one below
  bool test = false;         // judge on test rows, too: choices stay those of validation rows
  Measure measure = Measure::nll;
  double within = 0.01;                            // of the best, in units of the measure
  std::vector<double> under = {0.5, 0.25, 0.125};  // shares open at most
};

struct SweepChoice {
  std::string question;
  std::optional<size_t> line;  // none: no line answers it
};

struct SweepResult {
  std::vector<Line> lines;       // on validation rows, by falling share
  std::vector<Line> test_lines;  // the same on test rows; empty: not asked for
  std::vector<SweepChoice> choices;
  size_t best = 0;
  std::vector<std::optional<PairedDifference>> behind_best;  // how each line's measure differs from the best line's
  double area = 0, area_from = 0, area_to = 1;
  std::vector<bool> falling;  // for each seed: the active share does not rise with the price
  nlohmann::json to_json(const SweepOptions& options) const;
  std::string markdown(const SweepOptions& options) const;
};

std::vector<StudyCell> sweep_cells(const RunCells& runs, const SweepOptions& options, const StudyFolder& folder);
// Of the cells that are there. UserError where not a single line is complete.
SweepResult sweep_result(const RunCells& runs, const SweepOptions& options, const StudyFolder& folder);

// The mean, over budgets from `from` to `to`, of the best figure that a line within the budget has; shares and figures by line.
double area_under_curve(const std::vector<double>& shares, const std::vector<double>& figures, bool larger_is_better, double from,
                        double to);

}  // namespace l0gm
