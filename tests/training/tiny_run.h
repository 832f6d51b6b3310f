#pragma once

#include <algorithm>
#include <atomic>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/files.h"
#include "support/temporary_folder.h"
#include "training/modalities.h"
#include "training/table/table_run.h"
#include "training/table/table_task.h"
#include "training/train.h"

namespace l0gm::testing_tools {

// A run of a second or less: 360 training rows, 30 columns of 4 dimensions, 6 steps an epoch.
inline Config tiny_config(const std::vector<std::string>& assignments = {}) {
  const TemporaryFolder folder;
  const bool own =
      std::any_of(assignments.begin(), assignments.end(), [](const auto& a) { return a.starts_with("data.source="); });
  const auto path =
      folder.write("tiny.toml", std::string("[data]\nsource = 'planted-table'\n") + (own ? "" : "rows = 600\n") +
                                    "[model]\nname = 'mlp'\ninterface_dropout = 0.2\nwidth = 4\nhidden = 16\ndepth = 1\n"
                                    "members = 1\n[train]\nepochs = 6\nbatch = 64\n");
  return read_config(path, assignments);
}

inline Machine one_thread() { return prepare_machine("cpu", 1, false); }

// Sees everything; may raise the stop flag, or end the process's work as a kill does: by an exception in the middle of it.
class Watcher : public Observer {
 public:
  struct Killed {};
  void step_finished(int64_t step, int64_t, double loss) override {
    steps.push_back(step);
    losses.push_back(loss);
    if (step == stop_at) stop = true;
    if (step == kill_at) throw Killed();
  }
  void epoch_finished(const EpochRecord& record) override { epochs.push_back(record); }

  std::vector<int64_t> steps;
  std::vector<double> losses;
  std::vector<EpochRecord> epochs;
  std::atomic<bool> stop{false};
  int64_t stop_at = -1, kill_at = -1;
};

inline bool train(const Config& config, const std::filesystem::path& out, Watcher& watcher, bool resume = false) {
  return l0gm::train(modalities(), config, out, resume, one_thread(), {&watcher}, watcher.stop);
}

inline void train(const Config& config, const std::filesystem::path& out) {
  Watcher watcher;
  if (!train(config, out, watcher)) throw std::runtime_error("nobody asked it to stop");
}

inline std::vector<nlohmann::json> metrics_of(const std::filesystem::path& run) {
  std::vector<nlohmann::json> lines;
  std::istringstream text(read_file(run / "metrics.jsonl"));
  for (std::string line; std::getline(text, line);) lines.push_back(nlohmann::json::parse(line));
  return lines;
}

// Everything that must be equal, byte for byte, when a run is repeated or was interrupted.
inline std::map<std::string, std::string> result_of(const std::filesystem::path& run) {
  std::map<std::string, std::string> result;
  for (const char* file :
       {"checkpoint/best.safetensors", "checkpoint/state.safetensors", "predictions/valid.csv", "config.toml", "schema.json"}) {
    result[file] = read_file(run / file);
  }
  for (nlohmann::json line : metrics_of(run)) {
    line.erase("seconds");
    result["metrics"] += line.dump() + "\n";
  }
  nlohmann::json summary = nlohmann::json::parse(read_file(run / "summary.json"));
  summary.erase("seconds");
  result["summary"] = summary.dump();
  return result;
}

// Names of the parts that differ; printing checkpoints would help nobody.
inline std::vector<std::string> differences(const std::map<std::string, std::string>& a,
                                            const std::map<std::string, std::string>& b) {
  std::vector<std::string> names;
  for (const auto& [name, bytes] : a) {
    if (!b.contains(name) || b.at(name) != bytes) names.push_back(name);
  }
  return names;
}

}  // namespace l0gm::testing_tools
