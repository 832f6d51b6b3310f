#include "study/compare.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/study_flags.h"
#include "l0gm/error.h"
#include "study/compare_page.h"

namespace l0gm {

namespace {

struct CompareArguments {
  StudyFlags flags;
  std::string plan, peers_folder;
  int64_t seeds = 0;
  bool test = false, print_only = false;
};

void run_compare(CompareArguments& arguments, const Common& common) {
  ComparePlan plan = read_compare_plan(arguments.plan);
  if (arguments.seeds > 0) plan.seeds = arguments.seeds;
  const StudyFolder folder(arguments.flags.out);
  Comparison comparison(modalities(), std::move(plan),
                        {arguments.flags.assignments, arguments.test, find_peers(arguments.peers_folder)}, folder);
  if (!arguments.print_only) comparison.leave_out_absent_data();
  const std::vector<StudyCell> cells = comparison.cells();
  Outcome outcome;
  if (!arguments.print_only && !cells.empty()) outcome = arguments.flags.run(cells, folder);
  const std::vector<ComparedTable> tables = comparison.tables();
  std::filesystem::create_directories(folder.path());
  write_study(common, folder, "compare", compare_json(comparison, tables), compare_markdown(comparison, tables), outcome, cells);
  if (cells.empty()) throw UserError(fmt::format("no line of {} could be run: the reasons are above", arguments.plan));
}

}  // namespace

void add_compare(CLI::App& app, const Common& common) {
  auto arguments = std::make_shared<CompareArguments>();
  CLI::App* verb = app.add_subcommand("compare", "train named lines on some datasets, as a plan says, and print one table");
  verb->add_option("plan", arguments->plan, "the plan (TOML): docs/study.md, examples/studies")->required();
  arguments->flags.add_to(*verb, false);
  arguments->flags.add_shard(*verb);
  verb->add_option("--set", arguments->flags.assignments, "key=value, overrides the plan for every run of ours; may be repeated");
  verb->add_option("--seeds", arguments->seeds, "runs of each line, in place of the plan's")->check(CLI::Range(1, 1000));
  verb->add_flag("--test", arguments->test, "judge on test rows; choices stay those of validation rows");
  verb->add_flag("--print-only", arguments->print_only, "run nothing: the tables of the cells that are there");
  verb->add_option("--peers", arguments->peers_folder, "the folder of the peers' programs; default: found beside this one");
  verb->callback([arguments, &common] { run_compare(*arguments, common); });
}

}  // namespace l0gm
