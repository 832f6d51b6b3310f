#include "compact/compact_run.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "cli/command.h"

namespace l0gm {

namespace {

struct CompactArguments {
  std::string run, out, card, weights = "float32";
  CompactOptions options;
};

std::string proven(const nlohmann::json& result, const char* rows) {
  return fmt::format(
      "  says what the run says: within {:.1e} in float64, {:.1e} served in float32 (allowed {:.1e}), over {} {}\n",
      result["parity_float64"].get<double>(), result["parity_float32"].get<double>(),
      result["parity_float32_limit"].get<double>(), with_thousands(result["rows_checked"].get<int64_t>()), rows);
}

std::string described_graph(const nlohmann::json& result) {
  const auto closed = result["closed_columns"].get<std::vector<std::string>>();
  std::string text = fmt::format("{}: {} bytes, {} of {} units open", result["model"].get<std::string>(),
                                 with_thousands(result["bytes"].get<int64_t>()), result["open_units"].get<int64_t>(),
                                 result["units"].get<int64_t>());
  if (result.contains("nodes")) {
    text += fmt::format(", {} of {} nodes to look up; another node gets the classes' shares in training\n",
                        result["stored"].get<std::string>(), with_thousands(result["nodes"].get<int64_t>()));
  } else {
    text += fmt::format(", reads {} attributes{}\n", result["columns"].get<int64_t>(),
                        closed.empty() ? "" : fmt::format(" ({} closed)", closed.size()));
  }
  if (!result["encoder_narrowed"].get<bool>()) {
    text += fmt::format(
        "  only the head is narrower: graph.last_norm = layer normalises over all {} channels, so that the last layer computes "
        "closed ones too\n",
        result["dimensions"].get<int64_t>());
  }
  return text + proven(result, "nodes") + fmt::format("  model card: {}\n", result["card"].get<std::string>());
}

std::string described(const nlohmann::json& result) {
  if (result.contains("encoder_narrowed")) return described_graph(result);
  const auto closed = result["closed_columns"].get<std::vector<std::string>>();
  std::string text = fmt::format("{}: {} bytes, {} of {} units open, reads {} columns{}\n", result["model"].get<std::string>(),
                                 with_thousands(result["bytes"].get<int64_t>()), result["open_units"].get<int64_t>(),
                                 result["units"].get<int64_t>(), result["columns"].get<int64_t>(),
                                 closed.empty() ? "" : " (closed: " + list_some(closed) + ")");
  text += proven(result, "rows");
  if (result.contains("rounding")) {
    text += fmt::format("  {} weights move probabilities by at most {:.1e}, {:.1e} on average\n",
                        result["weights"].get<std::string>(), result["rounding"]["largest_difference"].get<double>(),
                        result["rounding"]["mean_difference"].get<double>());
  }
  return text + fmt::format("  model card: {}\n", result["card"].get<std::string>());
}

void run_compact(CompactArguments& arguments, const Common& common) {
  const auto& names = enum_names<WeightType>;
  arguments.options.weights = static_cast<WeightType>(std::find(names.begin(), names.end(), arguments.weights) - names.begin());
  arguments.options.card = arguments.card;
  const nlohmann::json result = compact_run(arguments.run, arguments.out, arguments.options);
  print_result(common, result, described(result));
}

}  // namespace

void add_compact(CLI::App& app, const Common& common) {
  auto arguments = std::make_shared<CompactArguments>();
  CLI::App* verb =
      app.add_subcommand("compact", "a finished run as one small file to serve: closed units gone, the rest computed ahead");
  verb->add_option("run", arguments->run, "run folder")->required();
  verb->add_option("-o,--out", arguments->out, "file to write, such as model.l0gm")->required();
  verb->add_option("--weights", arguments->weights,
                   "float32, bfloat16 or int8; fewer bits get a calibrator of their own and say what they change")
      ->capture_default_str()
      ->check(CLI::IsMember(std::vector<std::string>(enum_names<WeightType>.begin(), enum_names<WeightType>.end())));
  verb->add_option(
          "--fold-bytes", arguments->options.fold.fold_bytes,
          "tables are multiplied through the first layer while together they take no more than this; 0: none (smallest file)")
      ->capture_default_str()
      ->check(CLI::NonNegativeNumber);
  verb->add_option("--rows", arguments->options.generated_rows,
                   "generated rows, beside all validation rows, to prove parity with")
      ->capture_default_str()
      ->check(CLI::Range(int64_t{10000}, int64_t{100000000}));
  verb->add_option(
      "--nodes", arguments->options.nodes,
      "graphs: a file to look up known nodes in, without LibTorch: all, valid, test, or a csv with the column `node`");
  verb->add_option("--card", arguments->card, "model card to write; default: the model's name with .md");
  verb->callback([arguments, &common] { run_compact(*arguments, common); });
}

}  // namespace l0gm
