#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>

#include "report/shown_options.h"

namespace l0gm {

// metrics.jsonl as a list per measure: {step: […], phase: […], …}, and out of gates.jsonl `gates`, how P(open) was spread over
// all units at each look; null where a look has none. At most so many lines, evenly, the last among them. Null without a line; a
// line that was cut off is left out.
nlohmann::json run_curves(const std::filesystem::path& metrics, const std::filesystem::path& gate_history, int64_t most_lines);

// [{name, from, to}] in steps, where gates were trained: by the schedule where the run says how many steps were planned, else
// by what the lines of the metrics say.
nlohmann::json phases_of_training(const ShownOptions& config, const nlohmann::json& summary, const nlohmann::json& curves);

}  // namespace l0gm
