#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/command.h"
#include "evaluation/describe.h"
#include "evaluation/evaluate.h"
#include "l0gm/error.h"
#include "report/pareto_sketch.h"

namespace l0gm {

namespace {

struct EvalArguments {
  std::vector<std::string> runs;
  std::string split = "test", data;
  EvaluateOptions options;
  MachineFlags machine;
};

// Of the terminal that results are printed to; 0: they go elsewhere.
int terminal_columns() {
  struct winsize size{};
  if (::isatty(STDOUT_FILENO) != 1 || ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0) return 0;
  return size.ws_col > 0 ? size.ws_col : 80;
}

void run_eval(const EvalArguments& arguments, const Common& common) {
  if (arguments.data == "-") throw UserError("--data reads its file more than once, which standard input cannot be: give a file");
  const Machine machine = arguments.machine.prepare();
  const Split split = arguments.split == "valid" ? Split::valid : Split::test;
  std::vector<Evaluation> evaluations;
  nlohmann::json results = nlohmann::json::array();
  for (const std::string& run : arguments.runs) {
    evaluations.push_back(arguments.data.empty() ? evaluate(modalities(), run, split, machine, arguments.options)
                                                 : evaluate_file(modalities(), run, arguments.data, machine));
    results.push_back(evaluations.back().to_json());
  }
  if (evaluations.size() == 1)
    print_result(common, results[0], describe(evaluations[0]));
  else
    print_result(common, {{"results", results}},
                 compare(evaluations) + (terminal_columns() > 0 ? pareto_sketch(evaluations, terminal_columns()) : ""));
}

}  // namespace

void add_eval(CLI::App& app, const Common& common) {
  auto arguments = std::make_shared<EvalArguments>();
  CLI::App* verb = app.add_subcommand("eval", "judge runs, or anybody's predictions, by the same measures");
  verb->add_option("runs", arguments->runs, "run folders, folders with predictions/SPLIT.csv, or prediction files")->required();
  verb->add_option("--split", arguments->split, "test or valid")->capture_default_str()->check(CLI::IsMember({"test", "valid"}));
  CLI::Option* data = verb->add_option("--data", arguments->data, "another file with the label, in place of a split (tables)");
  CLI::Option* perturb = verb->add_flag("--perturb", arguments->options.perturb,
                                        "also on twelve perturbed copies of the rows (missing, noise, "
                                        "quantise, occlude), and their mean")
                             ->excludes(data);
  verb->add_flag("--keep-perturbed", arguments->options.keep_perturbed, "leave those copies in RUN/perturbed/")->needs(perturb);
  verb->add_flag("--keep-predictions", arguments->options.keep_predictions,
                 "leave what is predicted for them in RUN/predictions/SPLIT-<condition>.csv")
      ->needs(perturb);
  verb->add_flag("--again", arguments->options.again, "compute although the run keeps an evaluation that still holds");
  arguments->machine.add_to(*verb);
  verb->callback([arguments, &common] { run_eval(*arguments, common); });
}

}  // namespace l0gm
