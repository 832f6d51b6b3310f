#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "training/modality.h"

namespace l0gm {

struct TrialResult {
  std::string settings;  // "model.depth=5, graph.residual=linear"; "": as the configuration has it
  double valid_nll = 0;
  double error = 0;  // standard error of the difference to the settings as they stood; 0: not measured
  double seconds = 0;
  bool taken = false;
};

// Settings that only training can tell (Modality::trials): the configuration as it stands and each challenger are trained, for a
// short while without a gate or as the run will be, and what has the lowest validation loss is set in `config`, if it is below the
// present one's by more than chance (Trials::errors). Nothing is tried where the modality has no rounds for this configuration.
// Empty as well when `stop` was raised meanwhile.
std::vector<TrialResult> settle_by_trials(const Modality& modality, const std::shared_ptr<Dataset>& dataset, const Record& record,
                                          const Machine& machine, const std::atomic<bool>& stop, Config& config);
// What an earlier start of this run tried and took.
void take_tried_settings(const Modality& modality, const Record& record, const std::filesystem::path& stored, Config& config);

nlohmann::json to_json(const std::vector<TrialResult>& results);

}  // namespace l0gm
