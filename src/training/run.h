#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "base/file_stamp.h"
#include "metrics/calibrator.h"
#include "run/run_folder.h"
#include "training/config.h"
#include "training/environment.h"
#include "training/task.h"

namespace l0gm {

// A finished run, ready to predict; a modality adds what it knows of its data.
struct LoadedRun {
  RunFolder folder;
  Config config;
  std::shared_ptr<Model> model;
  GateState gate_state;
  Calibrator calibrator;
};

// Trains `config` into the folder `out`, whatever its modality; with `resume` goes on where an interrupted run stopped.
// False when `stop` was raised before the end.
bool train(const Config& config, const std::filesystem::path& out, bool resume, const Machine& machine,
           const std::vector<Observer*>& observers, const std::atomic<bool>& stop);

// The parts of a run's life that are the same for every modality.

// A new folder with configuration and record in it, locked; or, with `resume`, the one that is there: its configuration must be
// the same, and `require_same_data` throws when its record speaks of other data.
RunFolder open_run(const Config& config, const std::filesystem::path& out, bool resume, const nlohmann::json& record,
                   const std::function<void(const nlohmann::json& stored)>& require_same_data, const Machine& machine);
// From the first step to the finished folder: best weights, validation predictions, calibrator, summary. False when `stop` was
// raised.
bool fit(RunFolder& folder, const Config& config, const std::shared_ptr<Model>& model, Task& task, bool resume,
         const std::vector<Observer*>& observers, const std::atomic<bool>& stop, std::chrono::steady_clock::time_point start);
// Best weights into run.model, which is built already; gate state and calibrator.
void load_result(LoadedRun& run, const Machine& machine);
// UserError naming the file that differs; the same bytes may lie elsewhere by now.
void require_unchanged(const RunFolder& folder, const std::vector<FileStamp>& then, const std::vector<FileStamp>& now);

// Weights that make classes count the same, [classes]; a class without rows counts nothing.
torch::Tensor balanced_weights(const std::vector<int64_t>& class_rows);

torch::Dtype dtype_of(Precision precision);

}  // namespace l0gm
