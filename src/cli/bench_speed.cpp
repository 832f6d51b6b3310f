#include "cli/bench_speed.h"

#include "l0gm/error.h"

namespace l0gm {

namespace {

struct SpeedArguments {
  SpeedBench bench;
  std::string what, out;
  std::vector<std::string> assignments;
  MachineFlags machine;
};

void run_speed(const SpeedArguments& arguments, const Common& common) {
  const SpeedBench& bench = arguments.bench;
  const Machine machine = arguments.machine.prepare();
  const bool finished = RunFolder::is_run(arguments.what);
  if (finished && !arguments.assignments.empty()) throw UserError("--set changes a configuration; this is a finished run");
  const nlohmann::json result =
      finished ? bench.inference(arguments.what, machine, bench.options)
               : bench.training(read_config(arguments.what, arguments.assignments), arguments.out, machine, bench.options);
  print_result(common, result, bench.describe(result));
}

}  // namespace

void add_speed_bench(CLI::App& bench, const Common& common, const SpeedBench& which) {
  auto arguments = std::make_shared<SpeedArguments>();
  arguments->bench = which;
  arguments->out = "l0gm-bench-" + which.name;
  SpeedOptions& options = arguments->bench.options;
  CLI::App* verb = bench.add_subcommand(which.name, which.description);
  verb->add_option("what", arguments->what, which.what)->required();
  verb->add_option("--set", arguments->assignments, "key=value, overrides the configuration; may be repeated");
  verb->add_option("-o,--out", arguments->out, "folder to train in; must not exist, and is removed afterwards")
      ->capture_default_str();
  verb->add_option("--epochs", options.epochs, "epochs that are timed")->capture_default_str()->check(CLI::PositiveNumber);
  verb->add_option("--warmup", options.warmup, "epochs, and runs of inference, before them that are not")
      ->capture_default_str()
      ->check(CLI::NonNegativeNumber);
  verb->add_option("--inferences", options.inferences, "runs of inference that are timed")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  arguments->machine.add_to(*verb);
  verb->callback([arguments, &common] { run_speed(*arguments, common); });
}

}  // namespace l0gm
