#pragma once

#include <optional>
#include <vector>

#include "study/engine.h"
#include "study/paper.h"

namespace l0gm {

// `l0gm paper --budget N`: N trainings for each line of Q1 that has settings to search, on validation rows of seed 0. What is
// found becomes a line beside it, "MLP, tuned", in place of the tuned lines that the plan brings along.
struct PaperTuning {
  PaperPlan plan;  // with those lines; where trials are not there, or failed, they are missing with the reason
  std::vector<StudyCell> cells;
  Outcome outcome;
};
// `workers`: none: nothing is run, what is there is read.
PaperTuning tune_paper(const RunCells& runs, const PaperPlan& plan, const PaperOptions& options,
                       const std::optional<Workers>& workers);

}  // namespace l0gm
