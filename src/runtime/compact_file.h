#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <span>
#include <string>

#include "metrics/calibrator.h"
#include "runtime/packed_rows.h"

// The compact file (.l0gm): safetensors with a manifest in its metadata; docs/format.md says what is in it.
namespace l0gm {

constexpr int compact_format_version = 1;  // files of every version up to this one can be read

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
CompactFile read_compact(std::string bytes, const std::string& name);  // from memory; `name` for messages

// Rounds the net to header.weights and writes atomically; returns the bytes written.
int64_t write_compact(const std::filesystem::path& path, const CompactHeader& header, const TableNet<Matrix>& net);

// Names and texts of a file may stand in a message: no control characters reach a terminal, and no flood.
std::string fit_for_a_message(std::string text);

// Numbers of a tensor, little-endian and at any alignment; integers are always finite.
bool all_finite(DType type, std::span<const char> bytes);

}  // namespace l0gm
