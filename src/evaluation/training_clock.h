#pragma once

#include <torch/types.h>

#include <chrono>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>

#include "run/observer.h"
#include "training/config.h"
#include "training/environment.h"
#include "training/modality.h"

// What the speed measurements of all modalities share.
namespace l0gm {

struct SpeedOptions {
  int64_t epochs = 1;  // that are timed
  int64_t warmup = 1;  // before them, and runs of inference before the timed ones
  int64_t inferences = 3;
};

// Seconds of training epochs, from the end of the warm-up to the last step, both waited for: a device works behind the host.
//   TrainingClock clock(machine.device, 1, 3);  config.train.epochs = 1 + 3;  train(…, {&clock}, …);  clock.seconds_per_epoch();
class TrainingClock : public Observer {
 public:
  TrainingClock(torch::Device device, int64_t warmup_epochs, int64_t epochs)
      : device_(device), warmup_epochs_(warmup_epochs), epochs_(epochs) {}
  void step_finished(int64_t step, int64_t steps, double loss) override;
  double seconds_per_epoch() const;
  int64_t steps_per_epoch() const { return steps_per_epoch_; }

 private:
  torch::Device device_;
  int64_t warmup_epochs_, epochs_, steps_per_epoch_ = 0, timed_steps_ = 0;
  std::chrono::steady_clock::time_point begin_, end_;
};

// Trains a configuration for the warm-up and the epochs that are timed, looking at validation rows at the end alone: epoch_seconds,
// epochs, steps_per_epoch, peak_bytes_training.
nlohmann::json measure_training(const Modality& modality, Config config, const std::filesystem::path& work, const Machine& machine,
                                const SpeedOptions& options);

void wait_for(torch::Device device);  // until all that was asked of it is done

// Removed however measuring ends; a folder that was there before is refused by training and stays.
struct TemporaryFolder {
  std::filesystem::path path;
  bool was_there = std::filesystem::exists(path);
  ~TemporaryFolder();
};

// The largest memory that tensors took on a GPU since the reset; null: no GPU.
void reset_peak(const Machine& machine);
nlohmann::json peak_bytes(const Machine& machine);

}  // namespace l0gm
