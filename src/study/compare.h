#pragma once

#include <optional>
#include <string>
#include <vector>

#include "baselines/peers.h"
#include "study/compare_plan.h"
#include "study/line.h"
#include "study/run_cells.h"

namespace l0gm {

struct CompareOptions {
  std::vector<std::string> set;  // for every run of ours, after all that the plan says
  bool test = false;             // judge on test rows: what is chosen is chosen on validation rows all the same
  std::optional<PeerPrograms> programs;
};

// A line on one dataset.
struct ComparedResult {
  const ComparedLine* line = nullptr;
  std::string missing;  // why there is nothing to show; "": there is
  std::string chosen;   // settings out of `choose`
  int64_t tried = 0;    // points of `choose` that were trained with every seed
  Line valid, judged;   // by seed; the second on test rows where they were asked for, else the first
  std::vector<double> seconds;                 // of training, where the runs say it
  std::optional<PairedDifference> difference;  // its NLL less that of the plan's reference
};

struct ComparedTable {
  const ComparedData* data = nullptr;
  std::string missing;  // why none of it was run; "": it was
  std::vector<ComparedResult> results;
};

// The cells of a plan, and what they say.
class Comparison {
 public:
  Comparison(const std::vector<const Modality*>& modalities, ComparePlan plan, CompareOptions options, const StudyFolder& folder);
  const ComparePlan& plan() const { return plan_; }
  const CompareOptions& options() const { return options_; }
  // Data whose files are absent is left out, unless all of its cells are done.
  void leave_out_absent_data();
  std::vector<StudyCell> cells() const;  // each after those that it needs
  std::vector<ComparedTable> tables() const;

 private:
  struct Point {
    std::string name;  // its settings out of `choose`
    std::vector<StudyCell> cells;
  };
  struct Entry {
    std::vector<StudyCell> rows;  // exported, for peers
    std::vector<Point> points;    // one, or as many as `choose` has
    std::string missing;
  };
  struct OfData {
    std::string missing;
    std::optional<Config> config;
    std::vector<Entry> entries;  // by line
  };
  std::vector<std::string> settings(const ComparedData& data, const std::vector<std::string>& of_line, int64_t seed) const;
  OfData make(const ComparedData& data) const;
  Entry make_entry(const RunCells& runs, const ComparedData& data, const ComparedLine& line, const OfData& before) const;
  StudyCell own_cell(const RunCells& runs, const std::string& label, const std::vector<std::string>& settings, int64_t seed,
                     const Entry* teacher) const;
  StudyCell cell_of_peer(const RunCells& runs, const std::string& label, const ComparedLine& line,
                         const std::vector<std::string>& of_point, const ComparedData& data, int64_t seed, Entry& entry) const;
  ComparedResult result(const ComparedLine& line, const Entry& entry) const;

  const std::vector<const Modality*>& modalities_;
  const ComparePlan plan_;
  const CompareOptions options_;
  const StudyFolder& folder_;
  std::vector<OfData> data_;
};

}  // namespace l0gm
