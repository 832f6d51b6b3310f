#pragma once

#include <optional>
#include <string>
#include <vector>

#include "study/compare.h"

// The columns of a comparison, by name:
//   active, open, projected, parameters  as beside every gated figure
//   ece, ece_scaled                      of P(class 1) with two classes, else of the top class
//   seconds                              of training
//   anything else                        a number of `eval --json`, dots between: nll, planted.recall, rob_mu.auc; of a list
//                                        (open_columns) how many it has; `conditions.noise*.auc`: the mean over all that begin so
//   valid.NAME                           the same on validation rows, whatever rows are judged
namespace l0gm {

// By seed; empty where no run has it.
std::vector<double> figures_of(const ComparedResult& result, const std::string& measure);
std::string measure_head(const std::string& measure);
std::string measure_text(const ComparedResult& result, const std::string& measure, bool spread);
std::optional<bool> is_larger_better(const std::string& measure);  // none: neither is
// Measures that none of the runs has, each with a hint; empty where there are no runs.
std::vector<std::string> unknown_measures(const std::vector<ComparedTable>& tables, const std::vector<std::string>& measures);

// Over the datasets where every line has a figure; lines that have none at all are left out.
struct MatrixMeans {
  std::vector<double> rank;      // by line, 1 is the best, equal ones share; NaN: left out
  std::vector<double> relative;  // of figure / best figure
  int64_t datasets = 0;
};
// [dataset][line]; NaN: missing.
MatrixMeans matrix_means(const std::vector<std::vector<double>>& figures, bool larger_is_better);

}  // namespace l0gm
