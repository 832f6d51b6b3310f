#pragma once

#include <functional>
#include <string>

#include "cli/command.h"
#include "evaluation/training_clock.h"
#include "training/run.h"

namespace l0gm {

// `l0gm bench NAME`: how fast a modality trains and infers. A configuration is trained for a few epochs, a finished run is asked.
struct SpeedBench {
  std::string name, description, what;  // `what`: the argument, for --help
  SpeedOptions options;                 // defaults
  std::function<nlohmann::json(Config, const std::filesystem::path& work, const Machine&, const SpeedOptions&)> training;
  std::function<nlohmann::json(const std::filesystem::path& run, const Machine&, const SpeedOptions&)> inference;
  std::function<std::string(const nlohmann::json&)> describe;
};
void add_speed_bench(CLI::App& bench, const Common& common, const SpeedBench& which);

}  // namespace l0gm
