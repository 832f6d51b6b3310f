#include "training/environment.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/Version.h>
#include <torch/version.h>
#include <unistd.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "base/threads.h"
#include "base/version.h"
#include "l0gm/error.h"
#include "training/kept_memory.h"

namespace l0gm {

namespace {

std::string processor() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("model name")) return line.substr(std::min(line.size(), line.find(':') + 2));
  }
  return "unknown";
}

}  // namespace

Machine prepare_machine(const std::string& device, int64_t threads, bool deterministic) {
  Machine machine;
  if (device == "cpu") keep_freed_memory();
  if (threads > 0) at::set_num_threads(static_cast<int>(threads));
  set_thread_limit(threads);
  machine.threads = at::get_num_threads();
  machine.deterministic = deterministic;
  if (deterministic) at::globalContext().setDeterministicAlgorithms(true, /*warn_only=*/true);
  if (device == "cpu") return machine;
  if (device != "cuda") throw UserError("--device is cpu or cuda; found '" + device + "'");
  if (!at::hasCUDA()) throw UserError("--device cuda: this build of LibTorch sees no CUDA device; use --device cpu");
  machine.device = torch::Device(torch::kCUDA);
  return machine;
}

nlohmann::json describe_environment(const Machine& machine, int64_t seed) {
  return {{"l0gm", version},
          {"libtorch", TORCH_VERSION},
          {"compiler", __VERSION__},
          {"device", machine.device.str()},
          {"processor", processor()},
          {"cpu_capability", at::get_cpu_capability()},
          {"threads", machine.threads},
          {"cores", sysconf(_SC_NPROCESSORS_ONLN)},
          {"deterministic", machine.deterministic},
          {"seed", seed},
          {"commit", commit}};
}

}  // namespace l0gm
