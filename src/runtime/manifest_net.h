#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/safetensors.h"
#include "runtime/packed_rows.h"

namespace l0gm {

// All that a reader cannot work out from schema and arrays.
nlohmann::json net_to_json(const TableNet<Matrix>& net, const Schema& schema);
// Reads the net of a manifest: everything set but its arrays, whose vectors have their sizes. Every number is checked, also
// against each other, the schema and the limits below, before it is multiplied or used as a size; `tensors` back the
// numbers of units. Violations are UserErrors.
TableNet<PackedRows> net_from_json(const nlohmann::json& json, const Schema& schema,
                                   const std::map<std::string, TensorBytes>& tensors);

// Slope slots of the schema's statistics, in order: what TableNet::statistic_slots are, but where a statistic is two units (a
// gate that depends on the example decides apart on its linear term).
std::vector<int64_t> statistic_slots_of(const Schema& schema);
// These and no others, ascending, each once or twice.
bool are_statistic_slots(const std::vector<int64_t>& slots, const Schema& schema);
// True for a column with a periodic field: the only kind that has waves.
std::vector<bool> periodic_columns(const Schema& schema);

// Far above what is trained, low enough that no product of two overflows and that working memory stays within bounds.
namespace limits {
constexpr int64_t members = 4096;
constexpr int64_t layers = 64;
constexpr int64_t width = int64_t{1} << 22;          // of the accumulator and of a layer, all members together
constexpr int64_t units = int64_t{1} << 22;          // of one column; gates and their rank too
constexpr int64_t waves = int64_t{1} << 16;          // of one column
constexpr int64_t grid = int64_t{1} << 20;           // fields * coordinates, feature maps * coordinates
constexpr int64_t slots = int64_t{1} << 16;          // codes of one row
constexpr int64_t encoder_bytes = int64_t{1} << 26;  // that a schema may ask for beyond its own size
}  // namespace limits

}  // namespace l0gm
