#pragma once

#include <filesystem>
#include <memory>

#include "encoders/text/text_encoder.h"
#include "training/run.h"
#include "training/text/text_record.h"
#include "training/text/text_task.h"

namespace l0gm {

// A finished run on texts.
class TextRun : public Run {
 public:
  TextRun(const std::filesystem::path& path, const Machine& machine);

  const Record& record() const override { return text; }
  Nouns nouns() const override;
  Predictions predict(Split split) override;
  PerturbedPredictions predict_perturbed(Split split, const Perturbation& perturbation, bool keep_file) override;
  torch::Tensor interface_of(Split split) override;
  GateReport gates(Split split) override;
  std::optional<InputReport> inputs(Split) override { return std::nullopt; }
  void add_figures(Split split, Evaluation& evaluation) override;

  const TextDataset& dataset();  // refused when its files have changed since training
  TextRows rows(Split split);    // UserError if there are none

  // The model that predicts: closed heads, neurons and layers are taken out, where gates are on these.
  std::shared_ptr<Model> served();
  // How much of the encoder is left, where gates are on its structure.
  std::optional<StructureReport> structure() const;

  TextRecord text;

 private:
  std::shared_ptr<Model> narrowed_;
};

// Matrix products of a text encoder on this machine: in bfloat16 on a GPU, unless the configuration says otherwise.
void choose_matmul(Model& model, const Config& config, const Machine& machine);

}  // namespace l0gm
