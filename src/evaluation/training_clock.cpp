#include "evaluation/training_clock.h"

#include <ATen/Functions.h>
#include <torch/cuda.h>

#include <nlohmann/json.hpp>

#include "training/train.h"
#ifdef L0GM_HAS_CUDA
#include <c10/cuda/CUDACachingAllocator.h>
#endif

namespace l0gm {

void wait_for(torch::Device device) {
  if (device.is_cuda()) torch::cuda::synchronize();
}

void TrainingClock::step_finished(int64_t step, int64_t steps, double) {
  steps_per_epoch_ = steps / (warmup_epochs_ + epochs_);
  const int64_t first = std::max<int64_t>(1, steps_per_epoch_ * warmup_epochs_);  // before the first step data is still read
  if (step != first && step != steps) return;
  wait_for(device_);
  (step == first ? begin_ : end_) = std::chrono::steady_clock::now();
  timed_steps_ = step - first;
}

double TrainingClock::seconds_per_epoch() const {
  return std::chrono::duration<double>(end_ - begin_).count() / static_cast<double>(timed_steps_) *
         static_cast<double>(steps_per_epoch_);
}

nlohmann::json measure_training(const Modality& modality, Config config, const std::filesystem::path& work, const Machine& machine,
                                const SpeedOptions& options) {
  config.train.epochs = options.warmup + options.epochs;
  std::erase(config.left_open, "train.epochs");  // what the data would set it to does not count
  // Its memory would count beside that of the model that is measured.
  if (may_be_set(modality, config, "distill.dense")) config.distill.dense = DenseTeacher::off;
  config.train.evaluate_every = config.train.checkpoint_every = static_cast<double>(config.train.epochs);
  TrainingClock clock(machine.device, options.warmup, options.epochs);
  const std::atomic<bool> never = false;
  reset_peak(machine);
  train({&modality}, config, work, false, machine, {&clock}, never);
  return {{"epoch_seconds", clock.seconds_per_epoch()},
          {"epochs", options.epochs},
          {"steps_per_epoch", clock.steps_per_epoch()},
          {"peak_bytes_training", peak_bytes(machine)}};
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  if (!was_there) std::filesystem::remove_all(path, ignored);
}

void reset_peak(const Machine& machine) {
#ifdef L0GM_HAS_CUDA
  if (!machine.device.is_cuda()) return;
  at::empty({1}, at::TensorOptions(machine.device));  // the allocator knows no device before its first tensor
  c10::cuda::CUDACachingAllocator::resetPeakStats(machine.device.has_index() ? machine.device.index() : 0);
#else
  static_cast<void>(machine);
#endif
}

nlohmann::json peak_bytes(const Machine& machine) {
#ifdef L0GM_HAS_CUDA
  if (machine.device.is_cuda()) {
    const auto stats = c10::cuda::CUDACachingAllocator::getDeviceStats(machine.device.has_index() ? machine.device.index() : 0);
    return stats.allocated_bytes[0].peak;
  }
#else
  static_cast<void>(machine);
#endif
  return nullptr;
}

}  // namespace l0gm
