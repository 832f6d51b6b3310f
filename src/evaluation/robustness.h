#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "training/table/table_run.h"

namespace l0gm {

// How a model does on perturbed copies of a split (data/table/perturb.h), raw probabilities:
//   rob_mu      {accuracy, auc, nll}: means over the conditions
//   conditions  {name: {sha256 of the perturbed file, accuracy, auc, nll, ece}}; ece is ece_binary with two classes
//   missing_conditions  names; only there when a peer has not all of the twelve
// Whoever has the same hashes was judged on the same rows.

// One condition's figures; their means over all of them. What is undefined under every condition (the AUC of a single class)
// stays undefined.
nlohmann::json perturbed_figures(const Predictions& predictions, const std::string& sha256);
nlohmann::json mean_over_conditions(const nlohmann::json& conditions);

// Each copy is drawn by the run's seed, written to RUN/perturbed/SPLIT-<condition>.csv, read back as any file is, judged and,
// unless they are to be kept, removed. To be called after load_split(), which refuses data that has changed since training.
nlohmann::json judge_perturbed(LoadedTable& run, const std::string& split, const Machine& machine, bool keep_files = false);

// A peer's folder: predictions/SPLIT-<condition>.csv, and perturbed.json as `l0gm data export --perturb` wrote it. Means are over
// the conditions that are there; none at all is a UserError.
nlohmann::json judge_perturbed_predictions(const std::filesystem::path& folder, const std::string& split);

}  // namespace l0gm
