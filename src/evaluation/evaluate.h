#pragma once

#include <filesystem>
#include <string>

#include "run/evaluation.h"
#include "training/run.h"

namespace l0gm {

struct EvaluateOptions {
  bool perturb = false;           // also on perturbed copies of the split
  bool keep_perturbed = false;    // a run's copies stay in RUN/perturbed/
  bool keep_predictions = false;  // and what the run says of them in RUN/predictions/SPLIT-<condition>.csv, as peers have it
  bool again = false;             // compute although the run has a stored evaluation that still holds
};

// Everything `l0gm eval --json` says of a run: metrics raw and calibrated, gates, parameters. On validation rows, to which the
// calibrator was fitted, the calibrated figures are cross-fitted. Writes predictions/SPLIT.csv and
// evaluation/SPLIT.json; where these are there, and neither the run nor its data has changed, they are the answer.
Evaluation evaluate_run(const Modalities& modalities, const std::filesystem::path& path, Split split, const Machine& machine,
                        const EvaluateOptions& options = {});

// A run judged on the rows of another file that has the label, too. Nothing is written.
Evaluation evaluate_file(const Modalities& modalities, const std::filesystem::path& run, const std::filesystem::path& file,
                         const Machine& machine);

// Another program's model, judged by the same code: a folder with predictions/SPLIT.csv (and valid.csv to calibrate on), or one
// csv file (raw figures only). Perturbed: predictions/SPLIT-<condition>.csv, and perturbed.json as `l0gm data export --perturb`
// wrote it; means are over the conditions that are there, none at all is a UserError.
Evaluation evaluate_predictions(const std::filesystem::path& path, Split split, CalibratorKind calibrator,
                                const EvaluateOptions& options = {});

// Whichever of the two it is.
Evaluation evaluate(const Modalities& modalities, const std::filesystem::path& path, Split split, const Machine& machine,
                    const EvaluateOptions& options = {});

}  // namespace l0gm
