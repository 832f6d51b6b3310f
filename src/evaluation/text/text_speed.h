#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "evaluation/training_clock.h"
#include "training/run.h"

namespace l0gm {

// How long training and inference over texts take on this machine, from token ids on the host to probabilities on the host.
//   a configuration: seconds of a training epoch (validation apart), trained in `work`, which is removed; then inference
//   a finished run: inference over its test texts
nlohmann::json measure_text_training(Config config, const std::filesystem::path& work, const Machine& machine,
                                     const SpeedOptions& options);
nlohmann::json measure_text_inference(const std::filesystem::path& run, const Machine& machine, const SpeedOptions& options);
std::string describe_text_speed(const nlohmann::json& result);

}  // namespace l0gm
