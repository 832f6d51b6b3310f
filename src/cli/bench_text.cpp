#include "cli/command.h"
#include "evaluation/text/text_speed.h"
#include "l0gm/error.h"

namespace l0gm {

namespace {

struct TextArguments {
  std::string what, out = "l0gm-bench-text";
  std::vector<std::string> assignments;
  TextSpeedOptions options;
  MachineFlags machine;
};

void run_text(const TextArguments& arguments, const Common& common) {
  const Machine machine = arguments.machine.prepare();
  if (RunFolder::is_run(arguments.what) && !arguments.assignments.empty())
    throw UserError("--set changes a configuration; this is a finished run");
  const nlohmann::json result =
      RunFolder::is_run(arguments.what)
          ? measure_text_inference(arguments.what, machine, arguments.options)
          : measure_text_training(read_config(arguments.what, arguments.assignments), arguments.out, machine, arguments.options);
  print_result(common, result, describe_text_speed(result));
}

}  // namespace

void add_bench_text(CLI::App& bench, const Common& common) {
  auto arguments = std::make_shared<TextArguments>();
  CLI::App* verb = bench.add_subcommand("text", "seconds of an epoch and texts a second, from token ids to probabilities");
  verb->add_option("what", arguments->what, "configuration (trained for a few epochs), or a finished run (inference)")
      ->required();
  verb->add_option("--set", arguments->assignments, "key=value, overrides the configuration; may be repeated");
  verb->add_option("-o,--out", arguments->out, "folder to train in; must not exist, and is removed afterwards")
      ->capture_default_str();
  verb->add_option("--epochs", arguments->options.epochs, "epochs that are timed")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  verb->add_option("--warmup", arguments->options.warmup, "epochs, and runs of inference, before them that are not")
      ->capture_default_str()
      ->check(CLI::NonNegativeNumber);
  verb->add_option("--inferences", arguments->options.inferences, "runs of inference that are timed")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  arguments->machine.add_to(*verb);
  verb->callback([arguments, &common] { run_text(*arguments, common); });
}

}  // namespace l0gm
