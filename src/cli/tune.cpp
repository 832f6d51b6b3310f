#include "study/tune.h"

#include <fmt/format.h>

#include "base/files.h"
#include "base/log.h"
#include "cli/study_flags.h"
#include "l0gm/error.h"

namespace l0gm {

namespace {

struct TuneArguments {
  StudyFlags flags;
  std::string by = "random", space = "wide", measure = "nll", peers_folder;
  std::vector<std::string> search, peers;
  TuneOptions options;
};

void run_tune(TuneArguments& arguments, const Common& common) {
  TuneOptions& options = arguments.options;
  const auto& names = enum_names<SearchBy>;
  options.by = static_cast<SearchBy>(std::find(names.begin(), names.end(), arguments.by) - names.begin());
  options.measure = read_measure(arguments.measure);
  if (options.budget < options.seeds)
    throw UserError(
        fmt::format("--budget is {}: a trial of {} seeds costs {} trainings", options.budget, options.seeds, options.seeds));
  if (options.by == SearchBy::halving && !arguments.flags.shard.empty())
    throw UserError("--shard: successive halving goes round by round; take --by random or grid, or more workers");
  const Workers workers = arguments.flags.in_shard();
  const StudyFolder folder = arguments.flags.folder();
  const RunCells runs(modalities(), arguments.flags.config, arguments.flags.assignments, folder);
  const Config config = runs.config({}, 0);
  if (arguments.space != "none") options.space = arguments.space == "paper" ? paper_space(config) : wide_space(config);
  for (const std::string& text : arguments.search) {
    const SearchAxis axis = read_axis(text);
    std::erase_if(options.space, [&](const SearchAxis& other) { return other.name == axis.name; });
    options.space.push_back(axis);
  }
  if (options.space.empty()) throw UserError("--space is none and nothing is named by --search: there is nothing to try");
  for (const std::string& name : arguments.peers) {
    options.peers.push_back(peer_named(name));
    if (options.peers.back().space.empty()) throw UserError(fmt::format("--peer {}: it has no settings to search", name));
  }
  options.programs = find_peers(arguments.peers_folder);
  Tuner tuner(runs, options, folder);
  const TuneResult result = tuner.run(workers);
  const bool all_ran = tuner.outcome().elsewhere.empty();  // else the best of all may be another
  const std::string best = all_ran ? tuner.best_toml(result) : "";
  if (!best.empty()) write_file_atomically(folder.path() / "best.toml", best);
  if (!best.empty()) log_info(fmt::format("the best configuration is {}", (folder.path() / "best.toml").string()));
  write_study(common, folder, "tune", result.to_json(options), result.markdown(options), tuner.outcome(), tuner.cells());
}

}  // namespace

void add_tune(CLI::App& app, const Common& common) {
  auto arguments = std::make_shared<TuneArguments>();
  CLI::App* verb = app.add_subcommand("tune", "search settings on validation rows; the best become best.toml");
  arguments->flags.add_to(*verb, true);
  arguments->flags.add_shard(*verb);
  TuneOptions& options = arguments->options;
  verb->add_option("--by", arguments->by, "random, grid or halving (many short trainings, fewer long ones)")
      ->capture_default_str()
      ->check(CLI::IsMember({"random", "grid", "halving"}));
  verb->add_option("--budget", options.budget, "full trainings, for us and for each peer alike")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000000));
  verb->add_option("--seeds", options.seeds, "trainings of each trial")->capture_default_str()->check(CLI::Range(1, 100));
  verb->add_option("--draw-seed", options.draw_seed, "another number draws other points")->capture_default_str();
  verb->add_option("--space", arguments->space, "wide (ours), paper, or none: only what --search names")
      ->capture_default_str()
      ->check(CLI::IsMember({"wide", "paper", "none"}));
  verb->add_option("--search", arguments->search,
                   "key=value,value,…: values to try, in place of the space's own for that key; may be repeated");
  verb->add_option("--measure", arguments->measure, "what is best: nll, accuracy, auc, brier or ece")->capture_default_str();
  verb->add_option("--under", options.under, "trials with a larger share active are not chosen")
      ->capture_default_str()
      ->check(CLI::Range(0.0, 1.0));
  verb->add_option("--peer", arguments->peers,
                   "also search for: xgboost, lightgbm, catboost, 'catboost with exact values'; may be repeated");
  verb->add_option("--peers", arguments->peers_folder, "the folder of their programs; default: found beside this one");
  verb->callback([arguments, &common] { run_tune(*arguments, common); });
}

}  // namespace l0gm
