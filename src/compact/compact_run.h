#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "compact/compact_kinds.h"
#include "compact/compaction.h"

namespace l0gm {

// Makes a compact file of a finished run, of whatever modality, proves that it says what the run's model says, and writes a model
// card beside it. Needs the run's data: parity is proven, and figures are taken, on its validation and test rows.
struct CompactResult {
  nlohmann::json json;  // what `l0gm compact --json` prints
  std::string text;     // the same for people
};
CompactResult compact_run(const CompactKinds& kinds, const std::filesystem::path& run, const std::filesystem::path& out,
                          const CompactOptions& options);
// The same of a compaction that is made already.
CompactResult compact(Compaction& compaction, const std::filesystem::path& out, const CompactOptions& options);

}  // namespace l0gm
