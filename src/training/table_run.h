#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "data/table/table.h"
#include "metrics/calibrator.h"
#include "run/run_folder.h"
#include "training/config.h"
#include "training/table_task.h"
#include "training/trainer.h"

namespace l0gm {

// Everything a run knows about its table without having it: schema.json.
struct TableRecord {
  Schema schema;
  std::vector<FieldCounts> counts;
  std::string dataset;
  std::vector<FileStamp> files;
  std::vector<std::string> planted;
  double bayes_auc = 0;

  nlohmann::json to_json() const;
  static TableRecord from_json(const nlohmann::json& json);
};

struct Machine {
  torch::Device device = torch::kCPU;
  int64_t threads = 0;  // 0: as many as there are cores
  bool deterministic = false;
};
Machine prepare_machine(const std::string& device, int64_t threads, bool deterministic);  // UserError when there is no such device

// Trains `config` into the folder `out`; with `resume` goes on where an interrupted run stopped.
// False when `stop` was raised before the end.
bool train_table(const Config& config, const std::filesystem::path& out, bool resume, const Machine& machine,
                 const std::vector<Observer*>& observers, const std::atomic<bool>& stop);

// A finished run, ready to predict.
struct LoadedRun {
  RunFolder folder;
  Config config;
  TableRecord table;
  std::shared_ptr<Model> model;
  GateState gate_state;
  Calibrator calibrator;
};
LoadedRun load_run(const std::filesystem::path& path, const Machine& machine);

// The rows of one split, encoded as in training; refuses when the files have changed since.
EncodedTable load_split(const LoadedRun& run, const std::string& split);

torch::Dtype dtype_of(Precision precision);

}  // namespace l0gm
