#pragma once

#include <torch/types.h>

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace l0gm {

struct Machine {
  torch::Device device = torch::kCPU;
  int64_t threads = 0;  // 0: as many as there are cores
  bool deterministic = false;
};
Machine prepare_machine(const std::string& device, int64_t threads,
                        bool deterministic);  // UserError when there is no such device

// Versions, device, threads, seed, commit: what one needs to judge a figure later.
nlohmann::json describe_environment(const Machine& machine, int64_t seed);

}  // namespace l0gm
