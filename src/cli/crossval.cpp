#include "study/crossval.h"

#include "cli/study_flags.h"

namespace l0gm {

namespace {

struct CrossvalArguments {
  StudyFlags flags;
  CrossvalOptions options;
};

void run_crossval(CrossvalArguments& arguments, const Common& common) {
  const StudyFolder folder = arguments.flags.folder();
  const RunCells runs(modalities(), arguments.flags.config, arguments.flags.assignments, folder);
  const std::vector<StudyCell> cells = crossval_cells(runs, arguments.options);
  const Outcome outcome = arguments.flags.run(cells, folder);
  const CrossvalResult result = crossval_result(runs, arguments.options, folder);
  write_study(common, folder, "crossval", result.to_json(arguments.options), result.markdown(), outcome, cells);
}

}  // namespace

void add_crossval(CLI::App& app, const Common& common) {
  auto arguments = std::make_shared<CrossvalArguments>();
  CLI::App* verb =
      app.add_subcommand("crossval",
                         "train without one fold at a time: intervals of every figure, how stable the choice of columns is");
  arguments->flags.add_to(*verb, true);
  arguments->flags.add_shard(*verb);
  verb->add_option("--folds", arguments->options.folds, "parts of the training and validation rows; test rows stay out")
      ->capture_default_str()
      ->check(CLI::Range(2, 1000));
  verb->add_option("--repeats", arguments->options.repeats, "times that rows are dealt anew")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000));
  verb->callback([arguments, &common] { run_crossval(*arguments, common); });
}

}  // namespace l0gm
