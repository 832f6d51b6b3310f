#pragma once

#include <torch/types.h>

#include <atomic>
#include <filesystem>
#include <memory>
#include <optional>

#include "metrics/predictions.h"
#include "training/modality.h"

namespace l0gm {

// What a teacher says of the training rows.
struct Lesson {
  Predictions soft;      // empty: there is no teacher
  torch::Tensor states;  // undefined: not asked for
};

// Asks the run that distill.from names; `record` remembers its weights. UserError where it learned from other rows.
Lesson ask_run(const Modalities& modalities, const DistillOptions& options, const std::shared_ptr<Dataset>& dataset,
               Record& record, const Machine& machine);
// UserError where distill.settings makes no model; before anything is trained.
void check_dense_teacher(const Modality& modality, const Config& config);
// distill.dense: a model without a gate is trained and asked. Nothing if `stop` was raised meanwhile.
std::optional<Lesson> ask_dense_model(const Modality& modality, const Config& config, const std::shared_ptr<Dataset>& dataset,
                                      const Record& record, const Machine& machine, const std::atomic<bool>& stop);
// What a model said that nobody keeps is kept in the run, so that training can go on with it.
void keep_lesson(const Lesson& lesson, RunFolder& folder);
Lesson kept_lesson(const RunFolder& folder);
// The task learns from it.
void teach(Task& task, const Lesson& lesson, const DistillOptions& options, const Model& model);

}  // namespace l0gm
