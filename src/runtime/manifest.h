#pragma once

#include <initializer_list>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "base/safetensors.h"
#include "runtime/packed_rows.h"

// The manifest of a compact file: strict JSON, and the shape of the net in it. Violations are UserErrors that do not name the
// file; read_compact does.
namespace l0gm {

// One JSON object: no key twice, nothing nested deeper than 64, numbers that a double can hold, valid UTF-8.
nlohmann::json parse_manifest(std::string_view text);

// Refuses a key of the object `json` that is not among `keys`, and anything that is no object.
void refuse_other_keys(const nlohmann::json& json, std::string_view where, std::initializer_list<std::string_view> keys);
// Refuses a key that `known` does not have at the same place, however deep: `known` is what we would write.
void refuse_unknown_keys(const nlohmann::json& json, const nlohmann::json& known, std::string_view where);

// All that a reader cannot work out from schema and arrays.
nlohmann::json net_to_json(const TableNet<Matrix>& net, const Schema& schema);
// The net with everything set but its arrays, whose vectors have their sizes. Every number is checked, also against each other,
// the schema and the limits below, before it is multiplied or asks for memory; `tensors` back the numbers of units.
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
