#pragma once

#include <atomic>
#include <filesystem>
#include <vector>

#include "run/observer.h"
#include "training/modality.h"

namespace l0gm {

// Trains `config` into the folder `out`, whatever its modality; with `resume` goes on where an interrupted run stopped.
// False when `stop` was raised before the end. `end_here`: an interrupted run ends at its last checkpoint.
bool train(const Modalities& modalities, const Config& config, const std::filesystem::path& out, bool resume,
           const Machine& machine, const std::vector<Observer*>& observers, const std::atomic<bool>& stop, bool end_here = false);

// Weights that make classes count the same, [classes]; a class without rows counts nothing.
torch::Tensor balanced_weights(const std::vector<int64_t>& class_rows);
// The weights of a configuration, [classes], 1 on average over the rows; undefined: all rows count the same.
torch::Tensor weights_of_classes(const TrainOptions& options, const std::vector<std::string>& classes,
                                 const std::vector<int64_t>& class_rows);

}  // namespace l0gm
