#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "metrics/compare.h"
#include "metrics/row_values.h"
#include "metrics/student_t.h"
#include "run/evaluation.h"
#include "study/cell.h"

namespace l0gm {

double figure_of(const Evaluation& evaluation, Measure measure);  // raw, as `eval` says it; NaN where it is undefined

// A line of a table: one configuration, trained once per seed, and judged.
struct Line {
  std::string name;
  std::vector<std::string> keys;        // cells, in the order of seeds
  std::vector<Evaluation> evaluations;  // of those that are there
  std::vector<size_t> seeds = {};       // of each evaluation: its place among the keys
  bool complete() const { return !keys.empty() && evaluations.size() == keys.size(); }

  std::vector<double> figures(Measure measure) const;
  MeanInterval mean(Measure measure) const;  // over seeds
  double worst(Measure measure) const;       // over seeds
  double active_fraction() const;            // mean over seeds; 1 where there is no gate
  std::vector<double> active_fractions() const;
  int64_t most_projected() const;
  int64_t not_converged() const;  // how many
  nlohmann::json to_json() const;
};

// Reads the products of a step where they are there; `or_else`: of this one where they are not.
Line read_line(std::string name, std::vector<std::string> keys, const StudyFolder& folder, const std::string& step,
               const std::string& or_else = {});

// The line of these seeds alone, each of which is there.
Line of_seeds(const Line& line, const std::vector<size_t>& seeds);

// Open units, active share, projected units and runs that did not converge, as text: beside every gated figure.
std::vector<std::string> gate_head();
std::vector<std::string> gate_text(const Line& line);
// Accuracy, AUC, NLL, ECE (floor), worst `measure` over seeds.
std::vector<std::string> figure_head(Measure worst_of);
std::vector<std::string> figure_texts(const Line& line, Measure worst_of);

// How `measure` of one line differs from that of another, run by run of the same seed, on the rows of a split: by what the runs
// predicted for them. What is found is kept in FOLDER/differences, a small file each, and taken from there where predictions are
// not at hand: cells that came from another machine without them. None where there is neither.
// `conditions`: on perturbed copies of the rows instead, the mean over these. `comparisons`: how many intervals are to hold at
// once.
std::optional<PairedDifference> compare_lines(const Line& first, const Line& second, const StudyFolder& folder, Split split,
                                              Measure measure, const std::vector<std::string>& conditions = {},
                                              int64_t comparisons = 1);

}  // namespace l0gm
