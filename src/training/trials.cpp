#include "training/trials.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/log.h"
#include "base/log_pause.h"
#include "base/text.h"
#include "training/aside.h"
#include "training/run.h"
#include "training/weighted_loss.h"

namespace l0gm {
namespace {

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

// Of the mean of pairs; 0 where there are none.
double error_of_difference(const std::vector<double>& first, const std::vector<double>& second) {
  if (first.size() < 2 || first.size() != second.size()) return 0;
  double sum = 0, squares = 0;
  for (size_t i = 0; i < first.size(); ++i) sum += first[i] - second[i];
  const auto count = static_cast<double>(first.size());
  for (size_t i = 0; i < first.size(); ++i) squares += std::pow(first[i] - second[i] - sum / count, 2);
  return std::sqrt(squares / (count * (count - 1)));
}

// What fits the same to the data need not be trained.
void leave_out_without_effect(const Modality& modality, Dataset& dataset, const Record& record, const Config& config,
                              Trials& trials) {
  const LogPause what_fitting_said_before;
  const nlohmann::json fitted = record.to_json();
  for (TrialRound& round : trials.rounds) {
    std::erase_if(round, [&](const std::vector<std::string>& challenger) {
      Config candidate = config;
      assign(candidate, challenger);
      return modality.fit(dataset, candidate)->to_json() == fitted;
    });
  }
  std::erase_if(trials.rounds, [](const TrialRound& round) { return round.empty(); });
}

// Trains settings one after the other.
class Attempts {
 public:
  Attempts(const Modality& modality, std::shared_ptr<Dataset> dataset, const Record& record, const Machine& machine,
           const std::atomic<bool>& stop, const Trials& trials)
      : modality_(modality), dataset_(std::move(dataset)), record_(record), machine_(machine), stop_(stop), trials_(trials) {}
  Attempts(const Attempts&) = delete;
  Attempts& operator=(const Attempts&) = delete;

  // False: stopped meanwhile.
  bool attempt(const Config& config, const std::vector<std::string>& assignments);
  // Settings under which training diverges, or that the device has no memory for, are not taken.
  bool attempt_or_warn(const Config& config, const std::vector<std::string>& assignments);
  // Whether the last one is better than the one that stands, beyond chance; it stands then.
  bool takes_last();
  void mark_standing() { results_[standing_].taken = true; }
  std::vector<TrialResult> results() && { return std::move(results_); }

 private:
  bool train(const Config& config, const std::vector<std::string>& assignments, TrialResult& result);

  const Modality& modality_;
  std::shared_ptr<Dataset> dataset_;
  const Record& record_;
  const Machine& machine_;
  const std::atomic<bool>& stop_;
  const Trials& trials_;
  std::vector<TrialResult> results_;
  size_t standing_ = 0;
  std::vector<double> last_losses_, standing_losses_;  // of validation rows; empty: not asked for
};

bool Attempts::train(const Config& config, const std::vector<std::string>& assignments, TrialResult& result) {
  const auto start = std::chrono::steady_clock::now();
  Config candidate = config;
  assign(candidate, assignments);
  if (!trials_.in_full) candidate = short_and_dense(std::move(candidate));
  std::unique_ptr<Record> refitted;
  if (trials_.refits) {
    const LogPause what_is_said_of_every_run;
    refitted = modality_.fit(*dataset_, candidate);
  }
  const Record& record = refitted != nullptr ? *refitted : record_;
  const std::optional<AsideModel> tried =
      train_aside(modality_, dataset_, record, candidate, machine_, stop_, /*a_while=*/!trials_.in_full);
  if (!tried) return false;
  last_losses_.clear();
  if (trials_.errors > 0) {
    const GateState state = final_state(tried->config, *tried->model);
    last_losses_ = weighted_losses(*tried->task, tried->task->predict(*tried->model, state, Split::valid));
  }
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  result.valid_nll = tried->best_valid_nll;
  result.seconds = seconds.count();
  return true;
}

bool Attempts::attempt(const Config& config, const std::vector<std::string>& assignments) {
  TrialResult result;
  result.settings = join(assignments, ", ");
  if (!train(config, assignments, result)) return false;
  if (results_.empty()) standing_losses_ = last_losses_;
  result.error = error_of_difference(last_losses_, standing_losses_);
  log_info(fmt::format("tried {}: valid NLL {:.4f}, {:.1f} s", assignments.empty() ? "the settings as they are" : result.settings,
                       result.valid_nll, result.seconds));
  results_.push_back(std::move(result));
  return true;
}

bool Attempts::attempt_or_warn(const Config& config, const std::vector<std::string>& assignments) {
  try {
    return attempt(config, assignments);
  } catch (const std::exception& error) {
    const std::string message = error.what();
    log_warning(fmt::format("tried {}: {}", join(assignments, ", "), message.substr(0, message.find('\n'))));
    results_.push_back({join(assignments, ", "), std::numeric_limits<double>::infinity(), 0, 0, false});
    return true;
  }
}

bool Attempts::takes_last() {
  const TrialResult& last = results_.back();
  if (!(last.valid_nll < results_[standing_].valid_nll - trials_.errors * last.error)) return false;
  standing_ = results_.size() - 1;
  standing_losses_ = last_losses_;
  return true;
}

}  // namespace

std::vector<TrialResult> settle_by_trials(const Modality& modality, const std::shared_ptr<Dataset>& dataset, const Record& record,
                                          const Machine& machine, const std::atomic<bool>& stop, Config& config) {
  Trials trials = modality.trials(config, record);
  if (trials.refits) leave_out_without_effect(modality, *dataset, record, config, trials);
  if (trials.rounds.empty()) return {};
  Attempts attempts(modality, dataset, record, machine, stop, trials);
  if (!attempts.attempt(config, {})) return {};
  for (const TrialRound& round : trials.rounds) {
    const std::vector<std::string>* winner = nullptr;
    for (const std::vector<std::string>& challenger : round) {
      if (!attempts.attempt_or_warn(config, challenger)) return {};
      if (attempts.takes_last()) winner = &challenger;
    }
    if (winner != nullptr) assign(config, *winner);
    attempts.mark_standing();
  }
  return std::move(attempts).results();
}

void take_tried_settings(const Modality& modality, const Record& record, const std::filesystem::path& stored, Config& config) {
  Config then = read_run_config(modality, stored);
  OptionList theirs = OptionList::of(then), ours = OptionList::of(config);
  for (const TrialRound& round : modality.trials(config, record).rounds) {
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
                    {"error", result.error},
                    {"seconds", result.seconds},
                    {"taken", result.taken}});
  }
  return json;
}

}  // namespace l0gm
