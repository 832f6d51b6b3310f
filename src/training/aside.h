#pragma once

#include <atomic>
#include <memory>
#include <optional>

#include "training/modality.h"

namespace l0gm {

// What a training that is no run of its own ended with.
struct AsideModel {
  Config config;                 // with the epochs that it had
  std::shared_ptr<Model> model;  // with the weights of its best step
  std::unique_ptr<Task> task;
  double best_valid_nll = 0;
};

// Trains a model beside a run, to compare settings or to ask it: in a folder of its own that is removed, and silently. The
// dataset serves further tasks afterwards. `a_while`: for a part of the epochs only. Nothing if `stop` was raised meanwhile.
//   if (auto dense = train_aside(modality, dataset, record, config, machine, stop))
//     dense->task->predict(*dense->model, final_state(dense->config, *dense->model), Split::train);
std::optional<AsideModel> train_aside(const Modality& modality, const std::shared_ptr<Dataset>& dataset, const Record& record,
                                      const Config& config, const Machine& machine, const std::atomic<bool>& stop,
                                      bool a_while = false);

}  // namespace l0gm
