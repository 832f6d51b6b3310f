#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <system_error>

#include "base/text.h"
#include "cli/command.h"
#include "compact/run_predictor.h"
#include "data/table/source.h"
#include "evaluation/predict_file.h"
#include "l0gm/error.h"
#include "runtime/file_predictor.h"

namespace l0gm {

namespace {

struct PredictArguments {
  std::string model, input, out;
  bool calibrated = false;
  PredictFileOptions options;
  std::string delimiter;
  MachineFlags machine;
};

std::string told(const nlohmann::json& counts, const char* what) {
  std::string text;
  for (const auto& [column, count] : counts.items()) {
    text += fmt::format("{}{} in {}", text.empty() ? "" : ", ", count.get<int64_t>(), column);
  }
  return text.empty() ? "" : fmt::format("  {}: {}\n", what, text);
}

// A file is a compact model, which needs no LibTorch; a folder is a run.
std::unique_ptr<Predictor> open_predictor(const PredictArguments& arguments) {
  const std::filesystem::path path = arguments.model;
  std::error_code ignored;  // whoever opens it says what is wrong with it
  if (std::filesystem::is_directory(path, ignored)) {
    return std::make_unique<RunPredictor>(path, arguments.machine.prepare(), arguments.calibrated);
  }
  if (std::filesystem::exists(path, ignored) && arguments.machine.device != "cpu") {
    throw UserError(fmt::format("--device {}: a compact model is served by the processor alone. Leave --device out, or give the run's "
                                "folder.",
                                arguments.machine.device));
  }
  return std::make_unique<FilePredictor>(path, arguments.calibrated);
}

void run_predict(PredictArguments& arguments, const Common& common) {
  const std::unique_ptr<Predictor> predictor = open_predictor(arguments);
  arguments.options.threads = arguments.machine.threads;
  if (!arguments.delimiter.empty()) {
    DataOptions spelled;
    spelled.delimiter = arguments.delimiter;
    arguments.options.delimiter = delimiter_of(spelled);
  }
  nlohmann::json result = predict_file(*predictor, arguments.input, arguments.out, arguments.options);
  result["calibrated"] = arguments.calibrated;
  const std::string text = fmt::format("{}: {} rows, {} a second\n", arguments.out, with_thousands(result["rows"].get<int64_t>()),
                                       with_thousands(static_cast<int64_t>(result["rows_per_second"].get<double>())));
  print_result(common, result, text + told(result["unseen"], "rare or unseen categories") +
                                   told(result["unreadable"], "not a number, read as missing"));
}

}  // namespace

void add_predict(CLI::App& app, const Common& common) {
  auto arguments = std::make_shared<PredictArguments>();
  CLI::App* verb = app.add_subcommand("predict", "probabilities for the rows of a file");
  verb->add_option("model", arguments->model, "compact model (.l0gm) or run folder")->required();
  verb->add_option("input", arguments->input, "table with the columns the model reads, in any order; others are ignored")->required();
  verb->add_option("-o,--out", arguments->out, "file to write: row,prediction,p_<class>…")->required();
  verb->add_option("--delimiter", arguments->delimiter, "of the input; default: as in training");
  verb->add_flag("--calibrated", arguments->calibrated, "apply the stored calibrator; raw probabilities otherwise");
  arguments->machine.add_to(*verb);
  verb->callback([arguments, &common] { run_predict(*arguments, common); });
}

}  // namespace l0gm
