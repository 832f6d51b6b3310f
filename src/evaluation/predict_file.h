#pragma once

#include <nlohmann/json_fwd.hpp>

#include "training/table_run.h"

namespace l0gm {

struct PredictFileOptions {
  bool calibrated = false;
  char delimiter = 0;  // 0: as the run was trained
};

// Reads a table in blocks, writes `row,prediction,p_<class>…` in the input's order, and returns what it met:
// rows, unseen categories, missing and unreadable values per column.
nlohmann::json predict_file(LoadedRun& run, const std::filesystem::path& input, const std::filesystem::path& output,
                            const PredictFileOptions& options, const Machine& machine);

}  // namespace l0gm
