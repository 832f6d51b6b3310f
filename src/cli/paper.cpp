#include "study/paper.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/files.h"
#include "base/text.h"
#include "cli/study_flags.h"
#include "l0gm/error.h"
#include "study/claims_page.h"
#include "study/paper_claims.h"
#include "study/paper_page.h"
#include "study/paper_tuning.h"

namespace l0gm {

namespace {

struct PaperArguments {
  StudyFlags flags;
  std::string table, modality, peers_folder, peers_python;
  std::vector<std::string> data = {"adult"}, lines;
  bool print_only = false, list = false, time = true;
  PaperOptions options;
};

// What one has to know to read the tables.
std::string preface(const PaperOptions& options, const PaperPlan& plan) {
  std::string text = fmt::format(
      "## {}\n\nTest rows, mean over {} seeds; in brackets the paper's figure, * where its source marks a placeholder. What all "
      "runs of ours have in common, whatever the line changes; no line is tuned but those whose names say so, so that the "
      "budget of a search is one training for each line, peers included:\n\n```toml\n{}```\n",
      plan.title, options.seeds, plan.config);
  if (!plan.ticket.empty() && !options.quick)
    text += fmt::format("\nA lottery ticket is trained twice, so that its lines have {}.\n", join(plan.ticket, ", "));
  if (!plan.sensitivity.empty() && !options.quick)
    text += fmt::format("\nF1 to F3 and the ablation have {} besides.\n", join(plan.sensitivity, ", "));
  if (!plan.priced.empty()) text += fmt::format("\nLines with a price have {} besides.\n", join(plan.priced, ", "));
  if (!plan.note.empty()) text += fmt::format("\n{}\n", plan.note);
  if (!plan.tuning.empty()) text += fmt::format("\n{}\n", plan.tuning);
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
  DataClaims claims;
};

// The cells of a plan, and which are there: what would be run.
nlohmann::json list_of(const PaperPlan& plan, const std::vector<StudyCell>& cells, const StudyFolder& folder) {
  // A trial of a search may be a line's first training as well, which wants more steps.
  std::map<std::string, bool> done;
  for (const StudyCell& cell : cells) {
    const bool there = folder.done(cell);
    const auto [place, added] = done.emplace(cell.key, there);
    if (!added) place->second = place->second && there;
  }
  nlohmann::json list = nlohmann::json::array();
  for (const StudyCell& cell : cells) {
    const auto found = done.extract(cell.key);
    if (found) list.push_back({{"data", plan.name}, {"key", cell.key}, {"label", cell.label}, {"done", found.mapped()}});
  }
  return list;
}

RunCells runs_of(const PaperArguments& arguments, const PaperPlan& plan, const StudyFolder& folder) {
  const std::filesystem::path config = folder.path() / (plan.name + ".toml");
  write_file_atomically(config, with_weights_folder(plan.config));
  return {modalities(), config, arguments.flags.assignments, folder};
}

// The plan, with lines tuned here where a budget is given: their trials are the first cells of the result.
PaperPlan plan_with_tuned_lines(const std::string& name, const PaperArguments& arguments, const StudyFolder& folder,
                                PlanResult& result) {
  const PaperPlan& plan = paper_plan(name);
  if (arguments.options.budget == 0) return plan;
  const bool only_read = arguments.list || arguments.print_only;
  PaperTuning tuning = tune_paper(runs_of(arguments, plan, folder), plan, arguments.options,
                                  only_read ? std::nullopt : std::optional(arguments.flags.in_shard()));
  result.cells = std::move(tuning.cells);
  result.outcome = std::move(tuning.outcome);
  return std::move(tuning.plan);
}

void check_lines(const PaperArguments& arguments, const StudyFolder& folder) {
  std::vector<std::string> names;
  for (const std::string& data : arguments.data) {
    const PaperPlan& plan = paper_plan(data);
    for (const PaperTable& table : paper_table_lines(runs_of(arguments, plan, folder), plan, arguments.options)) {
      for (const PaperLine& line : table.lines) names.push_back(line.name);
    }
  }
  for (const std::string& name : arguments.lines) {
    if (std::find(names.begin(), names.end(), name) == names.end())
      throw UserError(fmt::format("--line is '{}', and no table that was asked for has it.{}", name, did_you_mean(name, names)));
  }
}

PlanResult run_plan(const PaperArguments& arguments, const std::string& name, const StudyFolder& folder) {
  PlanResult result;
  const PaperPlan plan = plan_with_tuned_lines(name, arguments, folder, result);
  const std::vector<PaperTable> tables = paper_table_lines(runs_of(arguments, plan, folder), plan, arguments.options);
  const std::vector<StudyCell> cells = paper_cells(tables, arguments.lines);
  result.cells.insert(result.cells.end(), cells.begin(), cells.end());
  if (arguments.list) {
    result.json = list_of(plan, result.cells, folder);
    return result;
  }
  StudyFlags flags = arguments.flags;
  if (!arguments.print_only) result.outcome.add(flags.run(cells, folder));
  const std::vector<StudyCell> timings = paper_timings(tables);
  if (!timings.empty() && flags.shard.empty() && arguments.lines.empty()) {
    flags.workers.count = 1;  // nothing else shall run while time is measured
    if (!arguments.print_only && arguments.time) result.outcome.add(flags.run(timings, folder));
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
    result.page += "\n" + paper_markdown(table, results[table.id], plan, shared_inputs(table, folder));
    result.json["tables"].push_back(paper_json(table, results[table.id]));
  }
  const std::vector<Claim> claims = judge_claims(results, plan, folder);
  result.json["claims"] = claims_json(claims);
  result.claims = data_claims(plan, tables, results, claims);
  result.page += "\n" + claims_markdown(claims) + "\n" + machines_markdown(result.cells, folder);
  return result;
}

std::string list_text(const nlohmann::json& cells) {
  std::string text;
  for (const nlohmann::json& cell : cells) {
    const auto said = [&](const char* key) { return cell[key].get<std::string>(); };
    text +=
        fmt::format("{} {} {}: {}\n", said("key"), cell["done"].get<bool>() ? "done   " : "missing", said("data"), said("label"));
  }
  return text;
}

void run_paper(PaperArguments& arguments, const Common& common) {
  PaperOptions& options = arguments.options;
  options.tables = arguments.table == "all" ? paper_tables() : std::vector<std::string>{arguments.table};
  if (options.budget > 0 && options.tables.front() != "q1") throw UserError("--budget: tuned lines are of q1; ask for q1 or all");
  if (!arguments.modality.empty()) arguments.data = names_of_plans(arguments.modality);
  options.programs = find_peers(arguments.peers_folder, arguments.peers_python);
  const StudyFolder folder(arguments.flags.out);
  std::filesystem::create_directories(folder.path());
  if (!arguments.lines.empty()) check_lines(arguments, folder);
  PlanResult all;
  std::string page;
  std::vector<DataClaims> claims;
  const std::string budget = options.budget > 0 ? fmt::format(" --budget {}", options.budget) : "";
  all.page = fmt::format("# The paper's tables, as they come out here\n\n`l0gm paper {} --data {} --seeds {}{}{}`\n",
                         arguments.table, join(arguments.data, ","), options.seeds, budget, options.quick ? " --quick" : "");
  for (const std::string& assignment : arguments.flags.assignments) all.page += fmt::format("with `--set {}`\n", assignment);
  all.json["data"] = nlohmann::json::array();
  for (const std::string& name : arguments.data) {
    PlanResult one = run_plan(arguments, name, folder);
    if (arguments.list) {
      all.json["data"].insert(all.json["data"].end(), one.json.begin(), one.json.end());
      continue;
    }
    claims.push_back(one.claims);
    if (arguments.data.size() == 1) {
      all.json = one.json;
    } else {
      all.json["data"].push_back(one.json);
    }
    page += "\n" + one.page;
    all.outcome.add(one.outcome);
    all.cells.insert(all.cells.end(), one.cells.begin(), one.cells.end());
  }
  if (arguments.list) {
    print_result(common, {{"cells", all.json["data"]}}, list_text(all.json["data"]));
    return;
  }
  all.page += "\n" + summary_markdown(claims) + page + "\nOf the paper's own figures:\n\n";
  for (const std::string& remark : paper_remarks()) all.page += "- " + remark + "\n";
  write_study(common, folder, fmt::format("paper-{}-{}", join(arguments.data, "-"), arguments.table), all.json, all.page,
              all.outcome, all.cells);
}

}  // namespace

void add_paper(CLI::App& app, const Common& common) {
  auto arguments = std::make_shared<PaperArguments>();
  CLI::App* verb = app.add_subcommand("paper", "the tables of the paper, its figures beside ours, its claims judged one by one");
  const std::vector<std::string> plans = names_of_plans(), kinds = paper_modalities();
  std::vector<std::string> tables = paper_tables();
  tables.emplace_back("all");
  verb->add_option("table", arguments->table, "q1, q2, f1, f2, f3, ablation or all")->required()->check(CLI::IsMember(tables));
  CLI::Option* data = verb->add_option("--data", arguments->data, "which data, commas between: " + join(plans, ", "))
                          ->capture_default_str()
                          ->delimiter(',')
                          ->check(CLI::IsMember(plans));
  verb->add_option("--modality", arguments->modality, "all data of this kind, in place of --data: " + join(kinds, ", "))
      ->check(CLI::IsMember(kinds))
      ->excludes(data);
  arguments->flags.add_to(*verb, false);
  arguments->flags.add_shard(*verb);
  verb->add_option("--set", arguments->flags.assignments, "key=value, for every run of ours; may be repeated");
  verb->add_option("--seeds", arguments->options.seeds, "runs of each line")->capture_default_str()->check(CLI::Range(1, 100));
  verb->add_flag("--quick", arguments->options.quick, "short trainings: to see that everything runs, in minutes");
  verb->add_flag("--print-only", arguments->print_only, "run nothing: the tables of the cells that are there");
  CLI::Option* line = verb->add_option("--line", arguments->lines,
                                       "run this line alone, by its name in the table; may be repeated; all are printed");
  verb->add_option("--budget", arguments->options.budget,
                   "q1: so many trainings for each line, peers included, to choose settings on validation rows; each gets a "
                   "tuned line beside it")
      ->check(CLI::Range(1, 1000000))
      ->excludes(line);
  verb->add_flag("--list", arguments->list, "run nothing: the cells, and which are there");
  verb->add_flag("!--no-timing", arguments->time, "q2: models are not compacted and timed, as on a machine that others use");
  verb->add_option("--peers-python", arguments->peers_python,
                   "the python that runs them; default: $L0GM_PEERS_PYTHON, or that of .venv-peers beside the folder");
  verb->add_option("--peers", arguments->peers_folder, "the folder of the peers' programs; default: found beside this one");
  verb->callback([arguments, &common] { run_paper(*arguments, common); });
}

}  // namespace l0gm
