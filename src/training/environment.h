#pragma once

#include <nlohmann/json_fwd.hpp>

#include "training/table_run.h"

namespace l0gm {

// Versions, device, threads, seed, commit: what one needs to judge a figure later.
nlohmann::json describe_environment(const Machine& machine, int64_t seed);

}  // namespace l0gm
