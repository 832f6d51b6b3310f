#pragma once

#include <filesystem>
#include <memory>

#include "contract/toy_modality.h"
#include "training/run.h"

namespace l0gm::testing_tools {

// A finished run on points.
class ToyRun : public Run {
 public:
  ToyRun(const std::filesystem::path& path, const Machine& machine);

  const Record& record() const override { return points; }
  Nouns nouns() const override { return {"points", "numbers"}; }
  Predictions predict(Split split) override;
  PerturbedPredictions predict_perturbed(Split split, const Perturbation& perturbation, bool keep_file) override;
  GateReport gates(Split split) override;
  std::optional<InputReport> inputs(Split split) override;
  void add_figures(Split split, Evaluation& evaluation) override;  // mean_margin: of the largest probability over the second

  const ToyData& data();
  std::shared_ptr<ToyBatch> rows(Split split);

  ToyRecord points;
};

}  // namespace l0gm::testing_tools
