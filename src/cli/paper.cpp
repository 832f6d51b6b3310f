#include "study/paper.h"

#include <fmt/format.h>

#include "base/files.h"
#include "cli/study_flags.h"
#include "study/paper_claims.h"
#include "study/paper_page.h"

namespace l0gm {

namespace {

struct PaperArguments {
  StudyFlags flags;
  std::string table, data = "adult", peers_folder;
  PaperOptions options;
};

// What one has to know to read the tables.
std::string preface(const PaperArguments& arguments, const PaperPlan& plan) {
  std::string text = fmt::format(
      "## {}\n\nTest rows, mean over {} seeds; in brackets the paper's figure, * where its source marks a placeholder. Settings "
      "are not tuned "
      "per line.\n",
      plan.title, arguments.options.seeds);
  if (arguments.options.quick) {
    text +=
        "\n**Quick**: trainings are much shorter than they should be. This shows that everything runs; the figures say little of "
        "the method.\n";
  }
  return text;
}

void run_paper(PaperArguments& arguments, const Common& common) {
  PaperOptions& options = arguments.options;
  const PaperPlan& plan = paper_plan(arguments.data);
  options.tables = arguments.table == "all" ? paper_tables() : std::vector<std::string>{arguments.table};
  options.programs = find_peers(arguments.peers_folder);
  const StudyFolder folder(arguments.flags.out);
  std::filesystem::create_directories(folder.path());
  const std::filesystem::path config = folder.path() / (plan.name + ".toml");
  write_file_atomically(config, plan.config);
  const RunCells runs(modalities(), config, arguments.flags.assignments, folder);
  const std::vector<PaperTable> tables = paper_table_lines(runs, plan, options);
  std::vector<StudyCell> cells = paper_cells(tables);
  Outcome outcome = arguments.flags.run(cells, folder);
  if (const std::vector<StudyCell> timings = paper_timings(tables); !timings.empty() && arguments.flags.shard.empty()) {
    StudyFlags alone = arguments.flags;  // nothing else shall run while time is measured
    alone.workers.count = 1;
    outcome.add(alone.run(timings, folder));
    cells.insert(cells.end(), timings.begin(), timings.end());
  }
  PaperResults results;
  nlohmann::json json = {{"data", plan.name},
                         {"seeds", options.seeds},
                         {"quick", options.quick},
                         {"tables", nlohmann::json::array()}};
  std::string page = preface(arguments, plan);
  for (const PaperTable& table : tables) {
    results[table.id] = paper_results(table, plan, folder);
    page += "\n" + paper_markdown(table, results[table.id], plan);
    json["tables"].push_back(paper_json(table, results[table.id]));
  }
  const std::vector<Claim> claims = judge_claims(results, plan, folder);
  json["claims"] = claims_json(claims);
  page += "\n" + claims_markdown(claims) + "\nOf the paper's own figures:\n\n";
  for (const std::string& remark : paper_remarks()) page += "- " + remark + "\n";
  write_study(common, folder, fmt::format("paper-{}-{}", plan.name, arguments.table), json, page, outcome, cells);
}

}  // namespace

void add_paper(CLI::App& app, const Common& common) {
  auto arguments = std::make_shared<PaperArguments>();
  CLI::App* verb = app.add_subcommand("paper", "the tables of the paper, its figures beside ours, its claims judged one by one");
  std::vector<std::string> tables = paper_tables(), plans;
  tables.emplace_back("all");
  for (const PaperPlan& plan : paper_plans()) plans.push_back(plan.name);
  verb->add_option("table", arguments->table, "q1, q2, f1, f2, f3, ablation or all")->required()->check(CLI::IsMember(tables));
  verb->add_option("--data", arguments->data, "which data: adult, clicks, computers, cs or imdb")
      ->capture_default_str()
      ->check(CLI::IsMember(plans));
  arguments->flags.add_to(*verb, false);
  verb->add_option("--set", arguments->flags.assignments, "key=value, for every run of ours; may be repeated");
  verb->add_option("--seeds", arguments->options.seeds, "runs of each line")->capture_default_str()->check(CLI::Range(1, 100));
  verb->add_flag("--quick", arguments->options.quick, "short trainings: to see that everything runs, in minutes");
  verb->add_option("--peers", arguments->peers_folder, "the folder of the peers' programs; default: found beside this one");
  verb->callback([arguments, &common] { run_paper(*arguments, common); });
}

}  // namespace l0gm
