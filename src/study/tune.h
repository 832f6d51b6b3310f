#pragma once

#include <optional>
#include <string>
#include <vector>

#include "baselines/peers.h"
#include "baselines/search_space.h"
#include "study/engine.h"
#include "study/line.h"
#include "study/run_cells.h"

namespace l0gm {

enum class SearchBy { random, grid, halving };
template <>
inline constexpr auto enum_names<SearchBy> = std::to_array<std::string_view>({"random", "grid", "halving"});

struct TuneOptions {
  SearchBy by = SearchBy::random;
  int64_t budget = 20;     // full trainings, for every method alike
  int64_t seeds = 1;       // of each trial: they count
  uint64_t draw_seed = 0;  // another number draws other points
  Measure measure = Measure::nll;
  double under = 1;                      // share that may be active at most: others are not chosen
  SearchSpace space;                     // ours
  bool own = true;                       // whether ours is searched
  std::vector<Peer> peers;               // searched beside, each in its own space
  std::optional<PeerPrograms> programs;  // none: peers are missing
  int64_t rungs = 3, keep_one_of = 3;    // successive halving
  bool only_read = false;                // nothing is run: of the trials that are there
  std::string label;                     // before the names of trials in messages: "MLP, "
};

// The paper's search space and ours. What the configuration leaves no room for is left out: prices where it asks for a share,
// everything about gates where there are none.
SearchSpace paper_space(const Config& config);
SearchSpace wide_space(const Config& config);

// What one method tried.
struct TuneMethod {
  std::string name;
  std::vector<Trial> trials;   // that were trained in full
  std::vector<Line> lines;     // the same, judged on validation rows
  std::optional<size_t> best;  // none: nothing is there, or nothing is sparse enough
  double trainings = 0;        // spent, in full trainings
  std::string missing;         // why there is nothing
};

struct TuneResult {
  std::vector<TuneMethod> methods;  // ours first, where it was searched
  nlohmann::json to_json(const TuneOptions& options) const;
  std::string markdown(const TuneOptions& options) const;
};

// Trials of successive halving at one rung, and how long each is trained.
struct Rung {
  int64_t trials = 0, epochs = 0;
};
// Every rung costs the same part of the budget at most, one full training of which is the configuration as it is.
std::vector<Rung> rungs_of(int64_t budget, int64_t rungs, int64_t keep_one_of, int64_t epochs);

class Tuner {
 public:
  Tuner(const RunCells& runs, TuneOptions options, const StudyFolder& folder)
      : runs_(runs), options_(std::move(options)), folder_(folder) {}
  // Runs all that is missing, in rounds where one depends on the other. Cells of the last round and their outcome remain for the
  // report.
  TuneResult run(const Workers& workers);
  const std::vector<StudyCell>& cells() const { return cells_; }
  const Outcome& outcome() const { return outcome_; }
  // The complete configuration of our best trial; "" where there is none.
  std::string best_toml(const TuneResult& result) const;

 private:
  void compute(const std::vector<StudyCell>& cells, const Workers& workers);
  std::vector<StudyCell> trial_cells(const Trial& trial, const std::vector<std::string>& further, const std::string& label) const;
  Line line_of(const Trial& trial, const std::vector<std::string>& further) const;
  Config read_trained(const std::filesystem::path& config) const;  // of a run
  std::vector<Trial> halved(const Workers& workers, double& trainings);
  TuneMethod own(const Workers& workers);
  TuneMethod of_peer(const Peer& peer, const Workers& workers);
  std::optional<size_t> best_of(const std::vector<Line>& lines, bool gated) const;  // gated: --under counts
  const RunCells& runs_;
  const TuneOptions options_;
  const StudyFolder& folder_;
  std::vector<StudyCell> cells_;
  Outcome outcome_;
};

}  // namespace l0gm
