#include "cli/bench_speed.h"
#include "evaluation/table/table_speed.h"

namespace l0gm {

void add_bench_table(CLI::App& bench, const Common& common) {
  add_speed_bench(bench, common,
                  {"table",
                   "seconds of an epoch over a table",
                   "configuration (trained for a few epochs)",
                   {.epochs = 5, .warmup = 1, .inferences = 1},
                   measure_table_training,
                   refuse_table_run,
                   describe_table_speed});
}

}  // namespace l0gm
