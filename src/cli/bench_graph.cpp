#include "cli/bench_speed.h"
#include "evaluation/graph/graph_speed.h"

namespace l0gm {

void add_bench_graph(CLI::App& bench, const Common& common) {
  add_speed_bench(bench, common,
                  {"graph",
                   "seconds of an epoch and of inference over a whole graph",
                   "configuration (trained for a few epochs), or a finished run (inference, with and without closed channels)",
                   {.epochs = 10, .warmup = 3, .inferences = 5},
                   measure_graph_training,
                   measure_graph_inference,
                   describe_graph_speed});
}

}  // namespace l0gm
