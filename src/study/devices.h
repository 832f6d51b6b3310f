#pragma once

#include <cstdint>
#include <string>

namespace l0gm {

int64_t core_count();    // that this process may use
int64_t device_count();  // GPUs that it may use
// What CUDA_VISIBLE_DEVICES is for a worker: one GPU each, in turn.
std::string device_of_worker(size_t worker);

}  // namespace l0gm
