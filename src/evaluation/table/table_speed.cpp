#include "evaluation/table/table_speed.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "l0gm/error.h"
#include "training/table/table_modality.h"

namespace l0gm {

nlohmann::json measure_table_training(Config config, const std::filesystem::path& work, const Machine& machine,
                                      const SpeedOptions& options) {
  const TableModality table;
  if (!table.reads(config.data)) throw UserError("bench table times tables; data.source is something else");
  const TemporaryFolder folder{work};
  nlohmann::json result = {{"what", work.string()}};
  result.update(measure_training(table, std::move(config), work, machine, options));
  return result;
}

nlohmann::json refuse_table_run(const std::filesystem::path& run, const Machine&, const SpeedOptions&) {
  throw UserError(fmt::format("bench table times the training of a configuration; {} is a finished run. What its predictions cost: "
                              "l0gm compact, then l0gm bench latency.",
                              run.string()));
}

std::string describe_table_speed(const nlohmann::json& result) {
  const double seconds = result["epoch_seconds"];
  const int64_t steps = result["steps_per_epoch"];
  return fmt::format("  training    {:.3f} s an epoch, {:.0f} steps a second (mean of {} epochs)\n", seconds,
                     static_cast<double>(steps) / seconds, result["epochs"].get<int64_t>());
}

}  // namespace l0gm
