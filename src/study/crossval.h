#pragma once

#include <map>
#include <string>
#include <vector>

#include "metrics/student_t.h"
#include "study/engine.h"
#include "study/run_cells.h"
#include "study/stability.h"

namespace l0gm {

// One configuration, trained as often as there are folds, each time without one of them, and judged on that one. Test rows stay
// out of it.
struct CrossvalOptions {
  int64_t folds = 5;
  int64_t repeats = 1;  // with rows that are dealt anew
};

struct CrossvalResult {
  std::vector<Evaluation> evaluations;          // of the folds, repeat by repeat
  std::map<std::string, MeanInterval> figures;  // every number that all of them have
  std::map<std::string, std::vector<double>> values;
  Stability inputs;  // that are read
  int64_t columns = 0;
  Nouns nouns;
  int64_t wanted = 0;  // folds x repeats

  nlohmann::json to_json(const CrossvalOptions& options) const;
  std::string markdown() const;
};

std::vector<StudyCell> crossval_cells(const RunCells& runs, const CrossvalOptions& options);
// Of the folds that are there. UserError where there are fewer than two.
CrossvalResult crossval_result(const RunCells& runs, const CrossvalOptions& options, const StudyFolder& folder);

}  // namespace l0gm
