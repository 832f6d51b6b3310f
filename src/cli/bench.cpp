#include <optional>

#include "cli/command.h"
#include "data/table/source.h"
#include "run/run_folder.h"
#include "runtime/container.h"
#include "serving/latency.h"

namespace l0gm {

namespace {

struct LatencyArguments {
  std::string model, input, delimiter, run;
  bool batch_named = false;
  LatencyOptions options;
};

void run_latency(LatencyArguments& arguments, const Common& common) {
  arguments.options.input = arguments.input;
  if (!arguments.batch_named && Container::kind_of(arguments.model) == "text") arguments.options.batches = {1, 32};
  if (!arguments.delimiter.empty()) {
    DataOptions spelled;
    spelled.delimiter = arguments.delimiter;
    arguments.options.delimiter = delimiter_of(spelled);
  }
  const std::optional<RunFolder> folder =
      arguments.run.empty() ? std::nullopt : std::optional<RunFolder>(RunFolder::open(arguments.run));
  const nlohmann::json result = measure_latency(arguments.model, arguments.options);
  if (folder) folder->write_json(folder->latency(), result);
  print_result(common, result, describe_latency(result));
}

void add_latency(CLI::App& bench, const Common& common) {
  auto arguments = std::make_shared<LatencyArguments>();
  CLI::App* verb =
      bench.add_subcommand("latency",
                           "microseconds per example: median and 99th percentile; tables: rows of numbers and of text");
  verb->add_option("model", arguments->model, "compact model (.l0gm)")->required();
  CLI::Option* batch = verb->add_option("--batch", arguments->options.batches, "rows of one call, e.g. 1,64,1024; texts: 1,32")
                           ->delimiter(',')
                           ->allow_extra_args(false)
                           ->capture_default_str();
  verb->add_option("--tokens", arguments->options.tokens, "text models: lengths of the texts that are made")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->capture_default_str();
  verb->add_option("--threads", arguments->options.threads, "threads that one call may use")->capture_default_str();
  verb->add_option("--input", arguments->input,
                   "table to take rows from; default: rows made from the model's vocabularies and ranges. Texts: also a .txt "
                   "with one per line");
  verb->add_option("--delimiter", arguments->delimiter, "of the input; default: as in training");
  verb->add_option("--runs", arguments->options.runs, "runs that are measured, per batch")->capture_default_str();
  verb->add_option("--warmup", arguments->options.warmup, "runs before them that are not")->capture_default_str();
  verb->add_flag("--calibrated", arguments->options.calibrated, "with the stored calibrator applied");
  verb->add_option("--run", arguments->run, "the run that the file was made of: keeps the figures there, for `l0gm report`");
  verb->callback([arguments, batch, &common] {
    arguments->batch_named = batch->count() > 0;
    run_latency(*arguments, common);
  });
}

}  // namespace

void add_bench(CLI::App& app, const Common& common) {
  CLI::App* verb = app.add_subcommand("bench", "measure a model's speed");
  verb->require_subcommand(1);
  add_latency(*verb, common);
  add_bench_table(*verb, common);
  add_bench_graph(*verb, common);
  add_bench_text(*verb, common);
}

}  // namespace l0gm
