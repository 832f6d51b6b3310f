#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "l0gm/options.h"

// Reads members of stored JSON with checks. A member that is absent, of the wrong type or out of range is a UserError that says
// where.
namespace l0gm::json_checks {

using Json = nlohmann::json;

[[noreturn]] void refuse(std::string_view where, std::string_view what);

const Json& member(const Json& json, std::string_view where, const char* key);
const Json& array(const Json& json, std::string_view where, const char* key);
std::string text(const Json& json, std::string_view where, const char* key);
std::vector<std::string> texts(const Json& json, std::string_view where, const char* key);
bool flag(const Json& json, std::string_view where, const char* key);
double number(const Json& json, std::string_view where, const char* key);  // finite
std::vector<double> numbers(const Json& json, std::string_view where, const char* key);
int64_t count(const Json& json, std::string_view where, const char* key, int64_t least = 0, int64_t most = INT64_MAX);
std::vector<int64_t> counts(const Json& json, std::string_view where, const char* key, int64_t least = 0,
                            int64_t most = INT64_MAX);
// The same check for numbers that do not come from JSON.
void check_counts(const std::vector<int64_t>& values, std::string_view where, const char* key, int64_t least = 0,
                  int64_t most = INT64_MAX);

void check_unique(const std::vector<std::string>& values, std::string_view where, const char* key);

template <class Enum>
Enum enumerator(const Json& json, std::string_view where, const char* key) {
  const std::string name = text(json, where, key);
  for (size_t i = 0; i < enum_names<Enum>.size(); ++i) {
    if (enum_names<Enum>[i] == name) return static_cast<Enum>(i);
  }
  refuse(where, fmt::format("'{}' is '{}', which this version does not know", key, name));
}

}  // namespace l0gm::json_checks
