#include <fmt/format.h>

#include "base/log.h"
#include "cli/command.h"
#include "data/table/source.h"
#include "evaluation/predict_file.h"

namespace l0gm {

namespace {

struct PredictArguments {
  std::string run, input, out;
  PredictFileOptions options;
  std::string delimiter;
  MachineFlags machine;
};

std::string told(const nlohmann::json& counts, const char* what) {
  std::string text;
  for (const auto& [column, count] : counts.items()) text += fmt::format("{}{} in {}", text.empty() ? "" : ", ", count.get<int64_t>(), column);
  return text.empty() ? "" : fmt::format("  {}: {}\n", what, text);
}

void run_predict(PredictArguments& arguments, const Common& common) {
  const Machine machine = arguments.machine.prepare();
  LoadedRun run = load_run(arguments.run, machine);
  if (!arguments.delimiter.empty()) {
    DataOptions spelled;
    spelled.delimiter = arguments.delimiter;
    arguments.options.delimiter = delimiter_of(spelled);
  }
  const nlohmann::json result = predict_file(run, arguments.input, arguments.out, arguments.options, machine);
  print_result(common, result, fmt::format("{}: {} rows\n", arguments.out, result["rows"].get<int64_t>()) +
                                   told(result["unseen"], "rare or unseen categories") +
                                   told(result["unreadable"], "not a number, read as missing"));
}

}  // namespace

void add_predict(CLI::App& app, const Common& common) {
  auto arguments = std::make_shared<PredictArguments>();
  CLI::App* verb = app.add_subcommand("predict", "probabilities for the rows of a file");
  verb->add_option("run", arguments->run, "run folder")->required();
  verb->add_option("input", arguments->input, "table with the columns the run was trained on, in any order; others are ignored")->required();
  verb->add_option("-o,--out", arguments->out, "file to write: row,prediction,p_<class>…")->required();
  verb->add_option("--delimiter", arguments->delimiter, "of the input; default: as in training");
  verb->add_flag("--calibrated", arguments->options.calibrated, "apply the run's calibrator; raw probabilities otherwise");
  arguments->machine.add_to(*verb);
  verb->callback([arguments, &common] { run_predict(*arguments, common); });
}

}  // namespace l0gm
