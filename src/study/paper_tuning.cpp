#include "study/paper_tuning.h"

#include <fmt/format.h>

#include <algorithm>

#include "study/tune.h"

namespace l0gm {

namespace {

// Why a line of Q1 is not run; "": it is, or is none of its lines.
std::string why_missing_in(const PaperTable& table, const std::string& name) {
  for (const PaperLine& line : table.lines) {
    if (line.name == name) return line.missing;
  }
  return "";
}

// Adds what a search found, or says why there is nothing. With trials missing the best of the others might not be the best.
template <class Planned>
void take_best(const TuneMethod& method, Planned& line) {
  const auto there = std::count_if(method.lines.begin(), method.lines.end(), [](const Line& trial) { return trial.complete(); });
  if (!method.missing.empty()) {
    line.missing = method.missing;
  } else if (there < std::ssize(method.trials)) {
    line.missing = fmt::format("{} of {} trials are there", there, method.trials.size());
  } else if (!method.best) {
    line.missing = "no trial has a figure";
  } else {
    const std::vector<std::string>& found = method.trials[*method.best].settings;
    line.settings.insert(line.settings.end(), found.begin(), found.end());
  }
}

class PaperSearch {
 public:
  PaperSearch(const RunCells& runs, const PaperPlan& plan, const PaperOptions& options, const std::optional<Workers>& workers)
      : runs_(runs), options_(options), workers_(workers), common_(standalone_settings(plan, options)), out_{plan, {}, {}} {
    PaperOptions of_q1 = options;
    of_q1.tables = {"q1"};
    table_ = paper_table_lines(runs, plan, of_q1).at(0);
    out_.plan.tuned.clear();
    out_.plan.tuned_peers.clear();
    out_.plan.tuning = fmt::format(
        "Tuned lines: {0} trainings for each (as `l0gm tune --budget {0}`), the least NLL on validation rows of seed 0:\n",
        options.budget);
  }

  PaperTuning all() {
    const std::vector<PlannedLine> lines = lines_to_tune(out_.plan);
    for (const PlannedLine& line : lines) tune(line);
    tune_peers(lines.front());
    return out_;
  }

 private:
  TuneResult search(const PlannedLine& line, std::vector<Peer> peers) {
    std::vector<std::string> settings = common_;
    settings.insert(settings.end(), line.settings.begin(), line.settings.end());
    const RunCells runs = runs_.with(with_weights_folder(settings));
    TuneOptions options;
    options.budget = options_.budget;
    options.space = wide_space(runs.config({}, 0));
    options.own = peers.empty();
    options.peers = std::move(peers);
    options.programs = options_.programs;
    options.only_read = !workers_;
    options.label = line.name + ", ";
    Tuner tuner(runs, options, runs.folder());
    const TuneResult result = tuner.run(workers_.value_or(Workers{}));
    out_.cells.insert(out_.cells.end(), tuner.cells().begin(), tuner.cells().end());
    out_.outcome.add(tuner.outcome());
    return result;
  }

  void tune(const PlannedLine& line) {
    PlannedLine tuned{line.name + ", tuned", line.settings, why_missing_in(table_, line.name)};
    if (tuned.missing.empty()) {
      const TuneMethod ours = search(line, {}).methods.at(0);
      take_best(ours, tuned);
      if (tuned.missing.empty()) say(line.name, ours);
    }
    out_.plan.tuned.push_back(tuned);
  }

  void tune_peers(const PlannedLine& beside) {
    for (const auto& [name, peer_name] : out_.plan.peers) {
      Peer peer = peer_named(peer_name);
      if (peer.space.empty()) continue;
      peer.flags.insert(peer.flags.end(), out_.plan.peer_flags.begin(), out_.plan.peer_flags.end());
      PlannedPeer tuned{name + ", tuned", peer_name, {}, why_missing_in(table_, name)};
      if (tuned.missing.empty()) {
        const TuneMethod theirs = search(beside, {peer}).methods.at(0);
        take_best(theirs, tuned);
        if (tuned.missing.empty()) say(name, theirs);
      }
      out_.plan.tuned_peers.push_back(tuned);
    }
  }

  void say(const std::string& name, const TuneMethod& method) {
    out_.plan.tuning += fmt::format("\n- {}: {}", name, method.trials[*method.best].name);
  }

  const RunCells& runs_;
  const PaperOptions& options_;
  const std::optional<Workers>& workers_;
  std::vector<std::string> common_;
  PaperTable table_;
  PaperTuning out_;
};

}  // namespace

PaperTuning tune_paper(const RunCells& runs, const PaperPlan& plan, const PaperOptions& options,
                       const std::optional<Workers>& workers) {
  return PaperSearch(runs, plan, options, workers).all();
}

}  // namespace l0gm
