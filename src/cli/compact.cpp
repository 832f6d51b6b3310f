#include "compact/compact_run.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/log.h"
#include "cli/command.h"
#include "training/pupil.h"

namespace l0gm {

namespace {

struct CompactArguments {
  std::string run, out, card, weights = "float32";
  bool teacher = false;
  CompactOptions options;
};

void run_compact(CompactArguments& arguments, const Common& common) {
  const auto& names = enum_names<WeightType>;
  arguments.options.weights = static_cast<WeightType>(std::find(names.begin(), names.end(), arguments.weights) - names.begin());
  arguments.options.card = arguments.card;
  const std::filesystem::path run = arguments.teacher ? std::filesystem::path(arguments.run) : served_run(modalities(), arguments.run);
  if (run != arguments.run) log_info(fmt::format("{} has a pupil, which is served: {}", arguments.run, run.string()));
  const CompactResult result = compact_run(compact_kinds(), run, arguments.out, arguments.options);
  print_result(common, result.json, result.text);
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
          "--fold-bytes", arguments->options.fold_bytes,
          "tables are multiplied through the first layer while together they take no more than this; 0: none (smallest file)")
      ->capture_default_str()
      ->check(CLI::NonNegativeNumber);
  verb->add_option("--rows", arguments->options.generated_rows,
                   "generated rows, beside all validation rows, to prove parity with")
      ->capture_default_str()
      ->check(CLI::Range(int64_t{10000}, int64_t{100000000}));
  verb->add_option(
      "--nodes", arguments->options.lookup,
      "graphs: a file to look up known nodes in, without LibTorch: all, valid, test, or a csv with the column `node`");
  verb->add_flag("--teacher", arguments->teacher, "of a run with a pupil (serve.pupil): the teacher itself");
  verb->add_option("--card", arguments->card, "model card to write; default: the model's name with .md");
  verb->callback([arguments, &common] { run_compact(*arguments, common); });
}

}  // namespace l0gm
