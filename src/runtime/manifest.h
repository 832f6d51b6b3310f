#pragma once

#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

// The manifest of a compact file: strict JSON. Violations are UserErrors that do not name the file; Container does.
namespace l0gm {

// One JSON object: no key twice, nothing nested deeper than 64, numbers that a double can hold, valid UTF-8.
nlohmann::json parse_manifest(std::string_view text);

// Refuses a key of the object `json` that is not among `keys`, and anything that is no object.
void refuse_other_keys(const nlohmann::json& json, std::string_view where, std::initializer_list<std::string_view> keys);
// Refuses a key that `known` does not have at the same place, however deep: `known` is what we would write.
void refuse_unknown_keys(const nlohmann::json& json, const nlohmann::json& known, std::string_view where);

}  // namespace l0gm
