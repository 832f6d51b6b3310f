#pragma once

#include <optional>

#include "run/evaluation.h"
#include "training/run.h"

namespace l0gm {

// The evaluation that a run keeps of a split, where it still holds: the same program and device, weights, summary and predictions
// by SHA-256, data files by size and time. `perturbed`: it must have the figures on perturbed copies, too. None: compute it.
std::optional<Evaluation> stored_evaluation(const RunFolder& folder, Split split, const Machine& machine, bool perturbed);
// The run's data files as they lie there: to be taken before anything is computed from them.
nlohmann::json data_stamps(const Run& run);
void store_evaluation(const Run& run, Split split, const Evaluation& evaluation, const nlohmann::json& stamps);

}  // namespace l0gm
