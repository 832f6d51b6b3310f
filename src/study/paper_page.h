#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "study/line.h"
#include "study/paper.h"

namespace l0gm {

// A line with its results: on test rows.
struct PaperResult {
  const PaperLine* line = nullptr;
  Line test;
  std::optional<double> rob_mu;         // of the plan's measure, over seeds and the conditions that all lines of the table have
  std::vector<std::string> conditions;  // those
  std::vector<double> rob_mu_by_seed;
  std::vector<size_t> rob_mu_seeds;               // of each of them: its place among the line's seeds
  std::map<std::string, double> by_condition;     // the same, each by itself
  std::vector<std::optional<double>> latency_us;  // of an example, by what the plan shows; mean over seeds
};
// Whether every line of a table was judged on the same perturbed inputs: by the hashes that `eval` logs for each condition, seed
// by seed. Names those that were not.
struct SharedInputs {
  int64_t lines = 0, hashes = 0;
  std::vector<std::string> different;  // "GCN, seed 0, noise-0.1"
};
SharedInputs shared_inputs(const PaperTable& table, const StudyFolder& folder);

std::vector<PaperResult> paper_results(const PaperTable& table, const PaperPlan& plan, const StudyFolder& folder);

// The table with the paper's figures beside ours, placeholders marked.
std::string paper_markdown(const PaperTable& table, const std::vector<PaperResult>& results, const PaperPlan& plan,
                           const SharedInputs& inputs = {});
// On which machines the cells of ours were computed.
std::string machines_markdown(const std::vector<StudyCell>& cells, const StudyFolder& folder);
nlohmann::json paper_json(const PaperTable& table, const std::vector<PaperResult>& results);

}  // namespace l0gm
