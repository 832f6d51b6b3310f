#include "study/paper.h"

#include <fmt/format.h>

#include "base/files.h"
#include "base/text.h"
#include "cli/study_flags.h"
#include "study/paper_claims.h"
#include "study/paper_page.h"

namespace l0gm {

namespace {

struct PaperArguments {
  StudyFlags flags;
  std::string table, peers_folder;
  std::vector<std::string> data = {"adult"};
  bool print_only = false;
  PaperOptions options;
};

// What one has to know to read the tables.
std::string preface(const PaperOptions& options, const PaperPlan& plan) {
  std::string text = fmt::format(
      "## {}\n\nTest rows, mean over {} seeds; in brackets the paper's figure, * where its source marks a placeholder. What all "
      "runs of "
      "ours have in common, whatever the line changes; nothing is tuned per line, so that the budget of a search is one training "
      "for each line, peers included:\n\n```toml\n{}```\n",
      plan.title, options.seeds, plan.config);
  if (!plan.ticket.empty() && !options.quick)
    text += fmt::format("\nA lottery ticket is trained twice, so that its lines have {}.\n", join(plan.ticket, ", "));
  if (options.quick) {
    text +=
        "\n**Quick**: trainings are much shorter than they should be. This shows that everything runs; the figures say little of "
        "the method.\n";
  }
  return text;
}

// One dataset's tables: its cells are run unless they are there, or nothing is to be run.
struct PlanResult {
  nlohmann::json json;
  std::string page;
  Outcome outcome;
  std::vector<StudyCell> cells;
};

PlanResult run_plan(const PaperArguments& arguments, const PaperPlan& plan, const StudyFolder& folder) {
  const std::filesystem::path config = folder.path() / (plan.name + ".toml");
  write_file_atomically(config, plan.config);
  const RunCells runs(modalities(), config, arguments.flags.assignments, folder);
  const std::vector<PaperTable> tables = paper_table_lines(runs, plan, arguments.options);
  PlanResult result;
  result.cells = paper_cells(tables);
  StudyFlags flags = arguments.flags;
  if (!arguments.print_only) result.outcome = flags.run(result.cells, folder);
  if (const std::vector<StudyCell> timings = paper_timings(tables); !timings.empty() && flags.shard.empty()) {
    flags.workers.count = 1;  // nothing else shall run while time is measured
    if (!arguments.print_only) result.outcome.add(flags.run(timings, folder));
    result.cells.insert(result.cells.end(), timings.begin(), timings.end());
  }
  result.json = {{"data", plan.name},
                 {"seeds", arguments.options.seeds},
                 {"quick", arguments.options.quick},
                 {"tables", nlohmann::json::array()}};
  result.page = preface(arguments.options, plan);
  PaperResults results;
  for (const PaperTable& table : tables) {
    results[table.id] = paper_results(table, plan, folder);
    result.page += "\n" + paper_markdown(table, results[table.id], plan);
    result.json["tables"].push_back(paper_json(table, results[table.id]));
  }
  const std::vector<Claim> claims = judge_claims(results, plan, folder);
  result.json["claims"] = claims_json(claims);
  result.page += "\n" + claims_markdown(claims) + "\n" + machines_markdown(result.cells, folder);
  return result;
}

void run_paper(PaperArguments& arguments, const Common& common) {
  PaperOptions& options = arguments.options;
  options.tables = arguments.table == "all" ? paper_tables() : std::vector<std::string>{arguments.table};
  options.programs = find_peers(arguments.peers_folder);
  const StudyFolder folder(arguments.flags.out);
  std::filesystem::create_directories(folder.path());
  PlanResult all;
  all.json["data"] = nlohmann::json::array();
  for (const std::string& name : arguments.data) {
    PlanResult one = run_plan(arguments, paper_plan(name), folder);
    if (arguments.data.size() == 1) {
      all.json = one.json;
    } else {
      all.json["data"].push_back(one.json);
    }
    all.page += (all.page.empty() ? "" : "\n") + one.page;
    all.outcome.add(one.outcome);
    all.cells.insert(all.cells.end(), one.cells.begin(), one.cells.end());
  }
  all.page += "\nOf the paper's own figures:\n\n";
  for (const std::string& remark : paper_remarks()) all.page += "- " + remark + "\n";
  write_study(common, folder, fmt::format("paper-{}-{}", join(arguments.data, "-"), arguments.table), all.json, all.page,
              all.outcome, all.cells);
}

}  // namespace

void add_paper(CLI::App& app, const Common& common) {
  auto arguments = std::make_shared<PaperArguments>();
  CLI::App* verb = app.add_subcommand("paper", "the tables of the paper, its figures beside ours, its claims judged one by one");
  std::vector<std::string> tables = paper_tables(), plans;
  tables.emplace_back("all");
  for (const PaperPlan& plan : paper_plans()) plans.push_back(plan.name);
  verb->add_option("table", arguments->table, "q1, q2, f1, f2, f3, ablation or all")->required()->check(CLI::IsMember(tables));
  verb->add_option("--data", arguments->data, "which data, commas between: " + join(plans, ", "))
      ->capture_default_str()
      ->delimiter(',')
      ->check(CLI::IsMember(plans));
  arguments->flags.add_to(*verb, false);
  verb->add_option("--set", arguments->flags.assignments, "key=value, for every run of ours; may be repeated");
  verb->add_option("--seeds", arguments->options.seeds, "runs of each line")->capture_default_str()->check(CLI::Range(1, 100));
  verb->add_flag("--quick", arguments->options.quick, "short trainings: to see that everything runs, in minutes");
  verb->add_flag("--print-only", arguments->print_only, "run nothing: the tables of the cells that are there");
  verb->add_option("--peers", arguments->peers_folder, "the folder of the peers' programs; default: found beside this one");
  verb->callback([arguments, &common] { run_paper(*arguments, common); });
}

}  // namespace l0gm
