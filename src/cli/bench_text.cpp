#include "cli/bench_speed.h"
#include "evaluation/text/text_speed.h"

namespace l0gm {

void add_bench_text(CLI::App& bench, const Common& common) {
  add_speed_bench(bench, common,
                  {"text",
                   "seconds of an epoch and texts a second, from token ids to probabilities",
                   "configuration (trained for a few epochs), or a finished run (inference)",
                   {.epochs = 1, .warmup = 1, .inferences = 3},
                   measure_text_training,
                   measure_text_inference,
                   describe_text_speed});
}

}  // namespace l0gm
