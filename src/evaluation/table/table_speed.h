#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "evaluation/training_clock.h"
#include "training/config.h"

namespace l0gm {

// Trains a configuration of a table for a few epochs in the folder `work`, which is removed, and says how long one takes. With
// schedule.kind = none gates are sampled in all of them.
nlohmann::json measure_table_training(Config config, const std::filesystem::path& work, const Machine& machine,
                                      const SpeedOptions& options);
// What a table's prediction costs is asked of its compact file: `bench latency`. UserError.
nlohmann::json refuse_table_run(const std::filesystem::path& run, const Machine& machine, const SpeedOptions& options);

std::string describe_table_speed(const nlohmann::json& result);

}  // namespace l0gm
