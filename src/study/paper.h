#pragma once

#include <optional>
#include <string>
#include <vector>

#include "baselines/peers.h"
#include "study/engine.h"
#include "study/paper_plan.h"
#include "study/run_cells.h"

namespace l0gm {

struct PaperOptions {
  std::vector<std::string> tables;  // of q1, q2, f1, f2, f3, ablation
  int64_t seeds = 3;
  bool quick = false;  // short trainings: the machinery, not the figures
  int64_t budget = 0;  // trainings for each line of Q1 that is tuned; 0: none is
  std::optional<PeerPrograms> programs;
};
const std::vector<std::string>& paper_tables();  // all of them

// A line of one of the paper's tables, and what it needs.
struct PaperLine {
  std::string name;               // in our table
  std::string row;                // in the paper's, to set its figures beside; "": it is not there
  std::vector<StudyCell> cells;   // by seed
  std::vector<StudyCell> rows;    // exported, for peers
  std::vector<StudyCell> served;  // compacted, and timed as the plan says: Q2
  std::string missing;            // why there are no cells
  bool perturbed = false;         // judged on perturbed copies as well
};

struct PaperTable {
  std::string id, title;
  std::vector<PaperLine> lines;
};

// The tables of a plan, with their cells. What a dataset has no setting for (fine units where there are none) is missing, with
// the reason.
std::vector<PaperTable> paper_table_lines(const RunCells& runs, const PaperPlan& plan, const PaperOptions& options);

// What all runs of Q1 have in common, beside the plan's configuration.
std::vector<std::string> standalone_settings(const PaperPlan& plan, const PaperOptions& options);
// Those of ours in Q1 whose settings a search may change: the gate, the dense backbones, what is recommended.
std::vector<PlannedLine> lines_to_tune(const PaperPlan& plan);

// All cells but those that measure time, which want the machine for themselves and come last. `lines`: of these alone.
std::vector<StudyCell> paper_cells(const std::vector<PaperTable>& tables, const std::vector<std::string>& lines = {});
std::vector<StudyCell> paper_timings(const std::vector<PaperTable>& tables);

}  // namespace l0gm
