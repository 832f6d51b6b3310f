#include "cli/command.h"
#include "evaluation/evaluate.h"

namespace l0gm {

namespace {

struct EvalArguments {
  std::vector<std::string> runs;
  std::string split = "test";
  EvaluateOptions options;
  MachineFlags machine;
};

void run_eval(const EvalArguments& arguments, const Common& common) {
  const Machine machine = arguments.machine.prepare();
  std::vector<nlohmann::json> results;
  for (const std::string& run : arguments.runs) results.push_back(evaluate(run, arguments.split, machine, arguments.options));
  if (results.size() == 1)
    print_result(common, results[0], describe(results[0]));
  else
    print_result(common, {{"results", results}}, compare(results));
}

}  // namespace

void add_eval(CLI::App& app, const Common& common) {
  auto arguments = std::make_shared<EvalArguments>();
  CLI::App* verb = app.add_subcommand("eval", "judge runs, or anybody's predictions, by the same measures");
  verb->add_option("runs", arguments->runs, "run folders, folders with predictions/SPLIT.csv, or prediction files")->required();
  verb->add_option("--split", arguments->split, "test or valid")->capture_default_str()->check(CLI::IsMember({"test", "valid"}));
  CLI::Option* perturb = verb->add_flag("--perturb", arguments->options.perturb,
                                        "also on twelve perturbed copies of the rows (missing, noise, "
                                        "quantise, occlude), and their mean");
  verb->add_flag("--keep-perturbed", arguments->options.keep_perturbed, "leave those copies in RUN/perturbed/")->needs(perturb);
  arguments->machine.add_to(*verb);
  verb->callback([arguments, &common] { run_eval(*arguments, common); });
}

}  // namespace l0gm
