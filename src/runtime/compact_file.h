#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "metrics/calibrator.h"
#include "runtime/container.h"
#include "runtime/packed_rows.h"

// The compact file of a table model (kind "table", also look-ups): schema and net in the container of runtime/container.h.
namespace l0gm {

// What a file says beside its arrays.
struct CompactHeader {
  Schema schema;  // only what the model reads
  WeightType weights = WeightType::float32;
  Calibrator calibrator;  // of these weights; never folded
  char delimiter = ',';   // of the files it was trained on
  nlohmann::json about;   // an object: provenance, gate, figures, parity; for people and reports, not for computing
};

struct CompactFile {
  CompactHeader header;
  TableNet<PackedRows> net;
  std::string manifest;  // the JSON text as it stands in the file
};

// Every offset, shape, type, count and hash is checked before anything is used, also against the schema; numbers must be finite.
// Any violation is a UserError that names the file and what is wrong with it.
CompactFile read_compact(const std::filesystem::path& path);
CompactFile read_compact(const Container& container);                  // that was read already
CompactFile read_compact(std::string bytes, const std::string& name);  // from memory; `name` for messages

// Rounds the net to header.weights and writes atomically; returns the bytes written.
int64_t write_compact(const std::filesystem::path& path, const CompactHeader& header, const TableNet<Matrix>& net);

}  // namespace l0gm
