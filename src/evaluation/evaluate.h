#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "training/run.h"

namespace l0gm {

struct EvaluateOptions {
  bool perturb = false;         // also on perturbed copies of the split (evaluation/robustness.h)
  bool keep_perturbed = false;  // a run's copies stay in RUN/perturbed/
};

// Everything `l0gm eval --json` says of a run: metrics raw and calibrated, gates, parameters. Writes predictions/SPLIT.csv.
nlohmann::json evaluate_run(const std::filesystem::path& path, const std::string& split, const Machine& machine,
                            const EvaluateOptions& options = {});

// The parts of it that are a modality's own.
nlohmann::json evaluate_table_run(const std::filesystem::path& path, const std::string& split, const Machine& machine,
                                  const EvaluateOptions& options);
nlohmann::json evaluate_graph_run(const std::filesystem::path& path, const std::string& split, const Machine& machine,
                                  const EvaluateOptions& options);

// Somebody else's model, judged by the same code: a folder with predictions/SPLIT.csv (and valid.csv to calibrate on), or one csv
// file (raw figures only).
nlohmann::json evaluate_predictions(const std::filesystem::path& path, const std::string& split, CalibratorKind calibrator,
                                    const EvaluateOptions& options = {});

// Whichever of the two it is.
nlohmann::json evaluate(const std::filesystem::path& path, const std::string& split, const Machine& machine,
                        const EvaluateOptions& options = {});

// For people: one result as lines, several as one table; there the means over perturbed copies are over the conditions that all
// have.
std::string describe(const nlohmann::json& result);
std::string compare(const std::vector<nlohmann::json>& results);

}  // namespace l0gm
