#include "training/trials.h"

#include <fmt/format.h>
#include <stdlib.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <system_error>

#include "base/log.h"
#include "base/text.h"
#include "training/run.h"
#include "training/train.h"
#include "training/trainer.h"

namespace l0gm {
namespace {

constexpr int64_t trial_part = 4;     // of the epochs that the run has
constexpr int64_t fewest_steps = 20;  // or as many as the run has

// Where a trial keeps its checkpoints, removed with it.
class ScratchFolder {
 public:
  ScratchFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "l0gm-trial-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) throw std::system_error(errno, std::generic_category(), pattern);
    path_ = pattern;
  }
  ~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

void assign(Config& config, const std::vector<std::string>& assignments) {
  OptionList options = OptionList::of(config);
  for (const std::string& assignment : assignments) options.set(assignment);
}

// The same training but for its length and the gate: encoder and head are compared.
Config short_and_dense(Config config) {
  config.gate.unit = UnitKind::none;
  config.train.patience = 0;
  config.prune = {};
  return config;
}

int64_t trial_epochs(int64_t epochs, int64_t steps_per_epoch) {
  return std::min(epochs, std::max(epochs / trial_part, (fewest_steps + steps_per_epoch - 1) / steps_per_epoch));
}

}  // namespace

std::vector<TrialResult> settle_by_trials(const Modality& modality, const std::shared_ptr<Dataset>& dataset, const Record& record,
                                          const Machine& machine, const std::atomic<bool>& stop, Config& config) {
  const std::vector<TrialRound> rounds = modality.trials(config);
  if (rounds.empty()) return {};
  std::vector<TrialResult> results;
  const auto train_shortly = [&](const std::vector<std::string>& assignments) {
    const auto start = std::chrono::steady_clock::now();
    Config candidate = config;
    assign(candidate, assignments);
    candidate = short_and_dense(std::move(candidate));
    const std::shared_ptr<Model> model = modality.make_model(record, candidate, static_cast<uint64_t>(candidate.train.seed));
    place(*model, machine.device, dtype_of(candidate.train.precision));
    const std::unique_ptr<Task> task = modality.make_task(dataset, record, model, candidate, machine);
    candidate.train.epochs = trial_epochs(candidate.train.epochs, task->steps_per_epoch());
    candidate.train.checkpoint_every = static_cast<double>(candidate.train.epochs + 1);
    task->label_smoothing = candidate.train.label_smoothing;
    const torch::Tensor weights = weights_of_classes(candidate.train, record.class_names(), record.rows_of_classes());
    if (weights.defined()) task->class_weights = weights.to(machine.device, dtype_of(candidate.train.precision));
    const ScratchFolder scratch;
    const RunFolder folder = RunFolder::create(scratch.path() / "run", std::string(modality.name()));
    Trainer trainer(model, *task, candidate, folder);
    if (!trainer.run({}, stop)) return false;
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    results.push_back({join(assignments, ", "), trainer.state().best_nll, seconds.count()});
    log_info(fmt::format("tried {}: valid NLL {:.4f}, {:.1f} s",
                         assignments.empty() ? "the settings as they are" : results.back().settings, results.back().valid_nll,
                         results.back().seconds));
    return true;
  };
  // Settings under which training diverges, or that the device has no memory for, are not taken.
  const auto tried = [&](const std::vector<std::string>& challenger) {
    try {
      return train_shortly(challenger);
    } catch (const std::exception& error) {
      const std::string message = error.what();
      log_warning(fmt::format("tried {}: {}", join(challenger, ", "), message.substr(0, message.find('\n'))));
      results.push_back({join(challenger, ", "), std::numeric_limits<double>::infinity(), 0});
      return true;
    }
  };
  if (!train_shortly({})) return {};
  size_t best = 0;
  for (const TrialRound& round : rounds) {
    const std::vector<std::string>* winner = nullptr;
    for (const std::vector<std::string>& challenger : round) {
      if (!tried(challenger)) return {};
      if (!(results.back().valid_nll < results[best].valid_nll)) continue;
      best = results.size() - 1;
      winner = &challenger;
    }
    if (winner != nullptr) assign(config, *winner);
    results[best].taken = true;
  }
  return results;
}

void take_tried_settings(const Modality& modality, const std::filesystem::path& stored, Config& config) {
  Config then = read_run_config(modality, stored);
  OptionList theirs = OptionList::of(then), ours = OptionList::of(config);
  for (const TrialRound& round : modality.trials(config)) {
    for (const std::vector<std::string>& challenger : round) {
      for (const std::string& assignment : challenger) {
        const std::string key = assignment.substr(0, assignment.find('='));
        ours.find(key).assign(theirs.find(key).value());
      }
    }
  }
}

nlohmann::json to_json(const std::vector<TrialResult>& results) {
  nlohmann::json json = nlohmann::json::array();
  for (const TrialResult& result : results) {
    json.push_back({{"settings", result.settings},
                    {"valid_nll", std::isfinite(result.valid_nll) ? nlohmann::json(result.valid_nll) : nlohmann::json()},
                    {"seconds", result.seconds},
                    {"taken", result.taken}});
  }
  return json;
}

}  // namespace l0gm
