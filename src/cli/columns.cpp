#include "study/columns.h"

#include <fmt/format.h>

#include <cmath>

#include "base/files.h"
#include "cli/study_flags.h"
#include "l0gm/error.h"

namespace l0gm {

namespace {

struct ColumnsArguments {
  StudyFlags flags;
  std::string label, delimiter, sizes = "2,4,6,8", peers_folder;
  ColumnsOptions options;
};

// A table by itself becomes a configuration that names nothing but the table.
std::string configuration_of(const ColumnsArguments& arguments, const StudyFolder& folder) {
  const std::filesystem::path given = arguments.flags.config;
  if (given.extension() == ".toml") {
    if (!arguments.label.empty()) throw UserError("--label is for a table; a configuration has data.label");
    return given.string();
  }
  if (arguments.label.empty())
    throw UserError(fmt::format("{}: which column is the label? Name it with --label", given.string()));
  if (!std::filesystem::exists(given)) throw UserError(fmt::format("{} does not exist", given.string()));
  const bool tabs = given.string().find(".tsv") != std::string::npos;
  std::string text =
      fmt::format("[data]\nsource = \"{}\"\ntrain = {}\nlabel = {}\nsplit.test = 0\n", tabs ? "tsv" : "csv",
                  nlohmann::json(std::filesystem::absolute(given).string()).dump(), nlohmann::json(arguments.label).dump());
  if (!arguments.delimiter.empty()) text += fmt::format("delimiter = {}\n", nlohmann::json(arguments.delimiter).dump());
  std::filesystem::create_directories(folder.path());
  write_file_atomically(folder.path() / "columns.toml", text);
  return (folder.path() / "columns.toml").string();
}

void run_columns(ColumnsArguments& arguments, const Common& common) {
  ColumnsOptions& options = arguments.options;
  options.sizes.clear();
  for (const double size : read_numbers("--k", arguments.sizes, 1, 1e6)) {
    if (size != std::floor(size)) throw UserError(fmt::format("--k is '{}', wanted whole numbers", arguments.sizes));
    options.sizes.push_back(static_cast<int64_t>(size));
  }
  if (options.repeats > options.folds)
    throw UserError(
        fmt::format("--repeats is {}, wanted at most {}: each holds out another part", options.repeats, options.folds));
  options.programs = find_peers(arguments.peers_folder);
  const StudyFolder folder = arguments.flags.folder();
  const RunCells runs(modalities(), configuration_of(arguments, folder), arguments.flags.assignments, folder);
  ColumnStudy study(runs, options, folder);
  const ColumnsResult result = study.run(arguments.flags.workers);
  write_study(common, folder, "columns", result.to_json(), result.markdown(), study.outcome(), study.cells());
}

}  // namespace

void add_columns(CLI::App& app, const Common& common) {
  auto arguments = std::make_shared<ColumnsArguments>();
  CLI::App* verb =
      app.add_subcommand("columns", "which columns to keep: the gate beside the usual selectors, judged by two models");
  arguments->flags.add_to(*verb, true);
  verb->add_option("--label", arguments->label, "of a table that is given in place of a configuration: its label column");
  verb->add_option("--delimiter", arguments->delimiter, "of such a table");
  verb->add_option("--k", arguments->sizes, "numbers of columns")->capture_default_str();
  verb->add_option("--repeats", arguments->options.repeats, "each holds out another fifth of the rows to judge on")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000));
  verb->add_option("--quality", arguments->options.quality, "train.quality of the gate's runs")
      ->capture_default_str()
      ->check(CLI::IsMember({"fast", "good", "best"}));
  verb->add_option("--judge-quality", arguments->options.judge_quality, "train.quality of our judge's runs")
      ->capture_default_str()
      ->check(CLI::IsMember({"fast", "good", "best"}));
  verb->add_option("--peers", arguments->peers_folder, "the folder of the selectors' programs; default: found beside this one");
  verb->callback([arguments, &common] { run_columns(*arguments, common); });
}

}  // namespace l0gm
