#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <system_error>

#include "base/text.h"
#include "cli/command.h"
#include "compact/graph/graph_predictor.h"
#include "compact/table/run_predictor.h"
#include "data/table/source.h"
#include "l0gm/error.h"
#include "runtime/file_predictor.h"
#include "serving/predict_file.h"

namespace l0gm {

namespace {

struct PredictArguments {
  std::string model, input, out, nodes, pairs;
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
    throw UserError(
        fmt::format("--device {}: a compact model is served by the processor alone. Leave --device out, or give the run's "
                    "folder.",
                    arguments.machine.device));
  }
  return std::make_unique<FilePredictor>(path, arguments.calibrated);
}

void run_predict_graph(const PredictArguments& arguments, const Common& common) {
  if (!arguments.delimiter.empty())
    throw UserError("--delimiter is for tables; a graph's is data.delimiter in its configuration");
  const GraphPredictor predictor(arguments.model, arguments.machine.prepare());
  nlohmann::json result =
      predict_graph(predictor, arguments.input, arguments.out, {arguments.nodes, arguments.pairs, arguments.calibrated});
  result["calibrated"] = arguments.calibrated;
  print_result(common, result,
               fmt::format("{}: {} {} of a graph of {} nodes, {:.1f} seconds\n", arguments.out,
                           with_thousands(result["rows"].get<int64_t>()), predictor.predicts_links() ? "pairs" : "nodes",
                           with_thousands(result["graph_nodes"].get<int64_t>()), result["seconds"].get<double>()));
}

void run_predict(PredictArguments& arguments, const Common& common) {
  if (predicts_nodes(arguments.model)) return run_predict_graph(arguments, common);
  for (const auto& [flag, value] : {std::pair("--nodes", &arguments.nodes), std::pair("--pairs", &arguments.pairs)}) {
    if (!value->empty())
      throw UserError(fmt::format("{} picks nodes of a graph, and {} is no graph's model: leave it out", flag, arguments.model));
  }
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
  print_result(common, result,
               text + told(result["unseen"], "rare or unseen categories") +
                   told(result["unreadable"], "not a number, read as missing"));
}

}  // namespace

void add_predict(CLI::App& app, const Common& common) {
  auto arguments = std::make_shared<PredictArguments>();
  CLI::App* verb = app.add_subcommand("predict", "probabilities for the rows of a file, or for the nodes of a graph");
  verb->add_option("model", arguments->model, "compact model (.l0gm) or run folder")->required();
  verb->add_option("input", arguments->input,
                   "table with the columns the model reads, in any order; others are ignored. Graphs: a .toml whose [data] and "
                   "[graph] name one, labels not needed, or a file of `l0gm data make` or `data export`")
      ->required();
  verb->add_option("-o,--out", arguments->out, "file to write: row (graphs: node),prediction,p_<class>…; links: from,to,p_linked")
      ->required();
  verb->add_option("--nodes", arguments->nodes,
                   "graphs: a csv with the column `node`; only these are computed, in this order. Default: all");
  verb->add_option("--pairs", arguments->pairs,
                   "links: a csv with the columns `from` and `to`, the pairs of nodes that are asked about");
  verb->add_option("--delimiter", arguments->delimiter, "of the input; default: as in training");
  verb->add_flag("--calibrated", arguments->calibrated, "apply the stored calibrator; raw probabilities otherwise");
  arguments->machine.add_to(*verb);
  verb->callback([arguments, &common] { run_predict(*arguments, common); });
}

}  // namespace l0gm
