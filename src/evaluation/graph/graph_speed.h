#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>

#include "evaluation/training_clock.h"
#include "training/run.h"

namespace l0gm {

// How long training and inference over a graph take on this machine:
//   a configuration: seconds of each training epoch (validation apart), trained in `work`, which is removed; then inference over
//   all nodes a finished run: inference over all nodes, as trained and with closed channels gone
// Mean of the epochs, median of the inferences; with CUDA also the largest memory that tensors took.
nlohmann::json measure_graph_training(Config config, const std::filesystem::path& work, const Machine& machine,
                                      const SpeedOptions& options);
nlohmann::json measure_graph_inference(const std::filesystem::path& run, const Machine& machine, const SpeedOptions& options);

std::string describe_graph_speed(const nlohmann::json& result);

}  // namespace l0gm
