#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "compact/table/fold.h"
#include "runtime/table_net.h"

namespace l0gm {

struct CompactOptions {
  WeightType weights = WeightType::float32;
  FoldOptions fold;
  int64_t generated_rows = 10000;  // beside all validation rows, to prove parity with
  std::filesystem::path card;      // the model card; empty: the model's name with .md
  std::string nodes;  // graphs: a file of look-ups for these nodes, all, valid, test or a csv; empty: the model itself
};

// Makes a compact file of a finished run, of whatever modality, proves that it says what the run's model says, and writes a model
// card beside it. Needs the run's data: parity is proven, and figures are taken, on its validation and test rows (graphs: on its
// nodes). Returns what `l0gm compact --json` prints.
nlohmann::json compact_run(const std::filesystem::path& run, const std::filesystem::path& out, const CompactOptions& options);

}  // namespace l0gm
