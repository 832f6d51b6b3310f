#pragma once

#include <memory>
#include <string>
#include <vector>

#include "data/perturbation.h"
#include "metrics/calibrator.h"
#include "run/evaluation.h"
#include "run/run_folder.h"
#include "training/modality.h"

namespace l0gm {

struct PerturbedPredictions {
  Predictions predictions;
  std::string sha256;  // of the perturbed inputs
};

// A finished run that can be asked; a modality derives its own. Evaluation, study, report and distillation ask it and nothing
// else.
//   const std::unique_ptr<Run> run = open_run(modalities(), "runs/bank", machine);
//   const Predictions test = run->predict(Split::test);
class Run {
 public:
  virtual ~Run() = default;
  Run(Run&&) = default;
  Run& operator=(Run&&) = default;

  virtual const Record& record() const = 0;
  virtual Nouns nouns() const { return {}; }
  // Reads the run's data (once), which must not have changed since training. The statistics of training rows are out of fold.
  virtual Predictions predict(Split split) = 0;
  // On a perturbed copy of the split, drawn by the run's seed. `keep_file`: the copy stays in RUN/perturbed/, where it is a file.
  virtual PerturbedPredictions predict_perturbed(Split split, const Perturbation& perturbation, bool keep_file) = 0;
  // Rows of another file that has the label, too; none: runs of this kind read no such file.
  virtual std::optional<Predictions> predict_file(const std::filesystem::path&) { return std::nullopt; }
  // What the encoder says of a split's rows, in their order, before any gate: [rows, width]; undefined: runs of this kind do not
  // tell.
  virtual torch::Tensor interface_of(Split) { return {}; }
  virtual bool keeps_perturbed_files() const { return false; }  // whether perturbed copies are files
  virtual GateReport gates(Split split) = 0;
  virtual std::optional<InputReport> inputs(Split split) = 0;  // which inputs are still read; none: not known
  virtual void add_figures(Split, Evaluation&) {}              // a modality's own

  // Data that is in memory already, in place of reading it again.
  void share(std::shared_ptr<Dataset> dataset) { dataset_ = std::move(dataset); }

  RunFolder folder;
  Config config;
  std::shared_ptr<Model> model;
  GateState gate_state;
  Calibrator calibrator;
  Machine machine;

 protected:
  // Opens the folder, which must be finished, and reads its configuration; the rest is load_weights()'s.
  Run(const Modality& modality, const std::filesystem::path& path, const Machine& machine);
  // Best weights into `model`, which is built by then; gate state and calibrator.
  void load_weights();
  std::shared_ptr<Dataset> dataset_;
};

// Of whatever modality run.json says (older runs: data.source).
std::unique_ptr<Run> open_run(const Modalities& modalities, const std::filesystem::path& path, const Machine& machine);
const Modality& modality_of_run(const Modalities& modalities, const RunFolder& folder);

// Where gates stand after training. With top-k and no schedule nothing was hardened: the share that may pass still counts.
GateState final_state(const Config& config, const Model& model);
// UserError naming the file that differs; the same bytes may lie elsewhere by now.
void require_unchanged(const RunFolder& folder, const std::vector<FileStamp>& then, const std::vector<FileStamp>& now);
torch::Dtype dtype_of(Precision precision);

}  // namespace l0gm
