#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "baselines/peers.h"
#include "study/engine.h"
#include "study/run_cells.h"
#include "study/stability.h"

namespace l0gm {

// Which columns: the gate's choice beside those of the usual selectors, each judged by models that are trained on these columns
// alone. For each repeat another fifth of training and validation rows is held out, chosen without and judged on; test rows stay
// closed.
struct ColumnsOptions {
  std::vector<int64_t> sizes = {2, 4, 6, 8};
  int64_t repeats = 3;  // at most `folds`
  int64_t folds = 5;
  std::string quality = "good", judge_quality = "fast";  // train.quality of the gate's runs and of our judge's
  std::optional<PeerPrograms> programs;                  // none: selectors and the judge LightGBM are missing
};

struct ColumnsResult {
  // By judge, size and selector: the loss of each repeat.
  std::map<std::string, std::map<int64_t, std::map<std::string, std::vector<double>>>> losses;
  std::map<int64_t, std::map<std::string, std::vector<std::vector<std::string>>>> chosen;  // by size and selector: of each repeat
  int64_t columns = 0;
  std::vector<std::string> missing;  // what could not be had, and why
  nlohmann::json to_json() const;
  std::string markdown() const;
};

class ColumnStudy {
 public:
  ColumnStudy(const RunCells& runs, ColumnsOptions options, const StudyFolder& folder)
      : runs_(runs), options_(std::move(options)), folder_(folder) {}
  ColumnsResult run(const Workers& workers);
  const std::vector<StudyCell>& cells() const { return cells_; }
  const Outcome& outcome() const { return outcome_; }

 private:
  struct Set {
    int64_t repeat = 0, size = 0;
    std::string selector;
    std::vector<std::string> names;
  };
  std::vector<std::string> fold_settings(int64_t repeat) const;
  StudyCell gate_cell(int64_t repeat, int64_t size) const;
  StudyCell selectors_cell(int64_t repeat, const StudyCell& rows) const;
  StudyCell lightgbm_cell(const Set& set, const StudyCell& rows) const;
  StudyCell dense_cell(const Set& set, const std::vector<std::string>& all) const;
  std::vector<std::string> columns_of(const StudyCell& rows) const;  // inputs of the table
  void compute(const std::vector<StudyCell>& cells, const Workers& workers);
  std::vector<Set> choose(const Workers& workers, ColumnsResult& result);
  void judge(const std::vector<Set>& sets, const Workers& workers, ColumnsResult& result);
  const RunCells& runs_;
  ColumnsOptions options_;
  const StudyFolder& folder_;
  std::vector<StudyCell> cells_;
  Outcome outcome_;
};

}  // namespace l0gm
