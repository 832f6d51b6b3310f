#include "study/devices.h"

#include <sched.h>
#include <torch/cuda.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "base/text.h"

namespace l0gm {

int64_t core_count() {
  cpu_set_t cores;
  if (::sched_getaffinity(0, sizeof(cores), &cores) != 0) return 1;
  return std::max(1, CPU_COUNT(&cores));
}

int64_t device_count() { return static_cast<int64_t>(torch::cuda::device_count()); }

std::string device_of_worker(size_t worker) {
  const int64_t devices = std::max<int64_t>(1, device_count());
  const auto turn = static_cast<int64_t>(worker) % devices;
  const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");  // its names, where some were given
  if (visible == nullptr || *visible == 0) return std::to_string(turn);
  std::string_view left = visible;
  for (int64_t skipped = 0; skipped < turn && left.find(',') != std::string_view::npos; ++skipped)
    left.remove_prefix(left.find(',') + 1);
  return std::string(trim(left.substr(0, left.find(','))));
}

}  // namespace l0gm
