#include <fmt/format.h>

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <memory>

#include "base/log.h"
#include "base/text.h"
#include "cli/command.h"
#include "compact/compact_kinds.h"
#include "data/table/source.h"
#include "l0gm/error.h"
#include "serving/predict_file.h"

namespace l0gm {

namespace fs = std::filesystem;

namespace {

struct PredictArguments {
  std::string model, input, out, nodes, pairs;
  bool calibrated = false, raw = false;
  PredictFileOptions options;
  std::string delimiter, keep;
  bool no_header = false;
  MachineFlags machine;
};

// first: the first such cell of a column, where it is known.
std::string list_counts(const nlohmann::json& counts, const nlohmann::json& first, const char* what) {
  std::string text;
  for (const auto& [column, count] : counts.items()) {
    text += fmt::format("{}{} in {}", text.empty() ? "" : ", ", count.get<int64_t>(), column);
    if (first.contains(column)) {
      const nlohmann::json& cell = first[column];
      text += fmt::format(" (first '{}' in row {})", cell["cell"].get<std::string>(), cell["row"].get<int64_t>());
    }
  }
  return text.empty() ? "" : fmt::format("  {}: {}\n", what, text);
}

// A column that is mostly odd means something else than in training, or is written otherwise: no row is predicted well then.
void warn_of_odd_columns(const nlohmann::json& result, const char* kind, const char* what, const char* remedy) {
  const auto rows = result["rows"].get<int64_t>();
  for (const auto& [column, count] : result[kind].items()) {
    const auto odd = count.get<int64_t>();
    if (rows < 10 || 2 * odd <= rows) continue;
    const nlohmann::json& first = result["first"][kind];
    const std::string example =
        first.contains(column) ? fmt::format(", such as '{}'", first[column]["cell"].get<std::string>()) : "";
    log_warning(fmt::format("column '{}': {} of {} cells {}{}. {}", column, with_thousands(odd), with_thousands(rows), what,
                            example, remedy));
  }
}

// The rows are those of the input, or, where rows refer to it, those that a flag names; none: all that there are.
nlohmann::json predict_rows(const PredictArguments& arguments) {
  PredictorOptions options{{}, arguments.machine.prepare(), {}};
  if (arguments.calibrated || arguments.raw) options.calibrated = arguments.calibrated;
  const bool context = needs_context(compact_kinds(), arguments.model);
  if (!context) {
    for (const auto& [flag, value] : {std::pair("--nodes", &arguments.nodes), std::pair("--pairs", &arguments.pairs)}) {
      if (value->empty()) continue;
      throw UserError(
          fmt::format("{} picks rows of what the input describes, and {} reads its rows from the input itself: leave it out",
                      flag, arguments.model));
    }
    const std::unique_ptr<Predictor> predictor = open_predictor(compact_kinds(), arguments.model, options);
    nlohmann::json result = predict_file(*predictor, arguments.input, arguments.out, arguments.options);
    result["calibrated"] = predictor->is_calibrated();
    return result;
  }
  if (!arguments.delimiter.empty())
    throw UserError("--delimiter is for tables; a graph's is data.delimiter in its configuration");
  options.context = arguments.input;
  const std::unique_ptr<Predictor> predictor = open_predictor(compact_kinds(), arguments.model, options);
  const bool pairs = predictor->columns().size() > 1;
  if (!pairs && !arguments.pairs.empty()) {
    throw UserError("--pairs: this model tells the classes of nodes; name them with --nodes, or leave it out for all");
  }
  if (pairs && (arguments.pairs.empty() || !arguments.nodes.empty())) {
    throw UserError(
        "this model tells which nodes are linked: name pairs of them with --pairs FILE, a csv with the columns from,to, and "
        "leave --nodes out");
  }
  const std::string& rows = pairs ? arguments.pairs : arguments.nodes;
  nlohmann::json result =
      rows.empty() ? predict_known(*predictor, arguments.out) : predict_file(*predictor, rows, arguments.out, arguments.options);
  result["calibrated"] = predictor->is_calibrated();
  return result;
}

// Predictions for standard output are written to a file first: all of them or none, as elsewhere.
struct OutputFile {
  bool to_standard_output;
  fs::path path;
  explicit OutputFile(const std::string& out)
      : to_standard_output(out == "-"),
        path(to_standard_output ? fs::temp_directory_path() / fmt::format("l0gm-predictions-{}.csv", getpid()) : fs::path(out)) {}
  ~OutputFile() {
    std::error_code ignored;
    if (to_standard_output) fs::remove(path, ignored);
  }
  void pass_on() const {
    std::ifstream file(path, std::ios::binary);
    std::vector<char> block(1 << 16);
    while (file.read(block.data(), static_cast<std::streamsize>(block.size())), file.gcount() > 0) {
      const auto size = static_cast<size_t>(file.gcount());
      if (std::fwrite(block.data(), 1, size, stdout) != size) throw UserError("standard output cannot be written to");
    }
  }
};

std::vector<std::string> names_in(const std::string& list) {
  std::vector<std::string> names;
  for (size_t begin = 0; begin < list.size();) {
    const size_t end = std::min(list.find(',', begin), list.size());
    names.emplace_back(trim(std::string_view(list).substr(begin, end - begin)));
    begin = end + 1;
  }
  return names;
}

void run_predict(PredictArguments& arguments, const Common& common) {
  arguments.options.threads = arguments.machine.threads;
  arguments.options.header = !arguments.no_header;
  arguments.options.keep = names_in(arguments.keep);
  if (arguments.input == "-") {
    if (arguments.no_header) throw UserError("--no-header reads a file twice, which standard input cannot be: give a file");
    arguments.input = "/dev/stdin";
  }
  const OutputFile output(arguments.out);
  arguments.out = output.path.string();
  if (!arguments.delimiter.empty()) {
    DataOptions spelled;
    spelled.delimiter = arguments.delimiter;
    arguments.options.delimiter = delimiter_of(spelled);
  }
  const nlohmann::json result = predict_rows(arguments);
  warn_of_odd_columns(result, "unreadable", "are not numbers as the training file wrote them and count as missing",
                      "Write them as they were written there.");
  warn_of_odd_columns(result, "unseen", "are values that training did not know", "Is it the same column?");
  const std::string text =
      fmt::format("{}: {} rows, {} a second, {} probabilities\n", output.to_standard_output ? "standard output" : arguments.out,
                  with_thousands(result["rows"].get<int64_t>()),
                  with_thousands(static_cast<int64_t>(result["rows_per_second"].get<double>())),
                  result["calibrated"].get<bool>() ? "calibrated" : "raw");
  const std::string told = text + list_counts(result["unseen"], result["first"]["unseen"], "rare or unseen categories") +
                           list_counts(result["unreadable"], result["first"]["unreadable"], "not a number, read as missing");
  if (!output.to_standard_output) return print_result(common, result, told);
  output.pass_on();
  log_info(common.json ? result.dump() : told.substr(0, told.size() - 1));
}

}  // namespace

void add_predict(CLI::App& app, const Common& common) {
  auto arguments = std::make_shared<PredictArguments>();
  CLI::App* verb = app.add_subcommand("predict", "probabilities for the rows of a file, or for the nodes of a graph");
  verb->add_option("model", arguments->model, "compact model (.l0gm) or run folder")->required();
  verb->add_option("input", arguments->input,
                   "table (csv, or jsonl with an object per line) with the columns the model reads, in any order; others are "
                   "ignored; - for standard input. Texts: the same with the text's column, or a .txt with one text per line. "
                   "Graphs: a .toml whose [data] and "
                   "[graph] name one, labels not needed, or a file of `l0gm data make` or `data export`")
      ->required();
  verb->add_option("-o,--out", arguments->out,
                   "file to write: row (graphs: node),prediction,p_<class>…; links: from,to,prediction,p_…; - for standard "
                   "output, and then the report goes to standard error")
      ->required();
  verb->add_option("--nodes", arguments->nodes,
                   "graphs: a csv with the column `node`; only these are computed, in this order. Default: all");
  verb->add_option("--pairs", arguments->pairs,
                   "links: a csv with the columns `from` and `to`, the pairs of nodes that are asked about");
  verb->add_option("--delimiter", arguments->delimiter, "of the input; default: as in training");
  verb->add_flag("--no-header", arguments->no_header, "the input has no header line: its columns are column_1, column_2, …");
  verb->add_option("--keep", arguments->keep, "columns of the input, with commas between them, that are written out again");
  CLI::Option* calibrated = verb->add_flag("--calibrated", arguments->calibrated,
                                           "apply the stored calibrator; default: where validation rows say that it helps");
  verb->add_flag("--raw", arguments->raw, "do not apply it")->excludes(calibrated);
  arguments->machine.add_to(*verb);
  verb->callback([arguments, &common] { run_predict(*arguments, common); });
}

}  // namespace l0gm
