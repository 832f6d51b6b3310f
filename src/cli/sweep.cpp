#include "study/sweep.h"

#include "cli/study_flags.h"
#include "l0gm/error.h"

namespace l0gm {

namespace {

struct SweepArguments {
  StudyFlags flags;
  std::string lambdas, targets, measure = "nll", under = "0.5,0.25,0.125";
  bool no_dense = false;
  SweepOptions options;
};

void run_sweep(SweepArguments& arguments, const Common& common) {
  SweepOptions& options = arguments.options;
  options.dense = !arguments.no_dense;
  options.measure = read_measure(arguments.measure);
  options.under = read_numbers("--under", arguments.under, 0, 1);
  if (!arguments.lambdas.empty()) options.lambdas = read_numbers("--lambdas", arguments.lambdas, 0, 1e6);
  if (!arguments.targets.empty()) options.targets = read_numbers("--targets", arguments.targets, 1e-9, 1);
  if (options.lambdas.empty() && options.targets.empty()) options.targets = {0.5, 0.25, 0.125, 0.0625};
  if (options.warm_starts && options.lambdas.size() < 2)
    throw UserError("--warm-starts is for a path of prices: give --lambdas two at least");
  const StudyFolder folder = arguments.flags.folder();
  const RunCells runs(modalities(), arguments.flags.config, arguments.flags.assignments, folder);
  const std::vector<StudyCell> cells = sweep_cells(runs, options, folder);
  const Outcome outcome = arguments.flags.run(cells, folder);
  const SweepResult result = sweep_result(runs, options, folder);
  write_study(common, folder, "sweep", result.to_json(options), result.markdown(options), outcome, cells);
}

}  // namespace

void add_sweep(CLI::App& app, const Common& common) {
  auto arguments = std::make_shared<SweepArguments>();
  CLI::App* verb = app.add_subcommand("sweep", "train a configuration at many sparsities and say which to take");
  arguments->flags.add_to(*verb, true);
  arguments->flags.add_shard(*verb);
  verb->add_option("--lambdas", arguments->lambdas, "prices of an open unit: 1e-4,3e-4,1e-3");
  verb->add_option("--targets", arguments->targets, "shares that stay open; without either list: 0.5,0.25,0.125,0.0625");
  verb->add_option("--seeds", arguments->options.seeds, "runs of each")->capture_default_str()->check(CLI::Range(1, 1000));
  verb->add_flag("--warm-starts", arguments->options.warm_starts,
                 "each price starts from the weights and gates of the one below it");
  verb->add_flag("--no-dense", arguments->no_dense, "without the dense reference");
  verb->add_option("--measure", arguments->measure, "what is best: nll, accuracy, auc, brier or ece")->capture_default_str();
  verb->add_option("--within", arguments->options.within, "the smallest within this of the best, in units of the measure")
      ->capture_default_str()
      ->check(CLI::NonNegativeNumber);
  verb->add_option("--under", arguments->under, "the best with at most these shares active")->capture_default_str();
  verb->add_flag("--test", arguments->options.test, "also judge on test rows; choices stay those of validation rows");
  verb->callback([arguments, &common] { run_sweep(*arguments, common); });
}

}  // namespace l0gm
