#include "base/json_checks.h"

#include <cmath>
#include <unordered_set>

#include "l0gm/error.h"

namespace l0gm::json_checks {
namespace {

double number_of(const Json& value, std::string_view where, const char* key) {
  if (!value.is_number()) refuse(where, fmt::format("'{}' is or holds {}, wanted a number", key, value.type_name()));
  const double result = value.get<double>();
  if (!std::isfinite(result)) refuse(where, fmt::format("'{}' is not finite", key));
  return result;
}

[[noreturn]] void refuse_count(std::string_view found, std::string_view where, const char* key, int64_t least, int64_t most) {
  const std::string up_to = most < INT64_MAX ? fmt::format(" to {}", most) : "";
  refuse(where, fmt::format("'{}' is or holds {}, wanted a whole number from {}{}", key, found, least, up_to));
}

int64_t count_of(const Json& value, std::string_view where, const char* key, int64_t least, int64_t most) {
  const bool fits = value.is_number_unsigned() ? value.get<uint64_t>() <= uint64_t{INT64_MAX} : value.is_number_integer();
  if (fits && value.get<int64_t>() >= least && value.get<int64_t>() <= most) return value.get<int64_t>();
  refuse_count(value.is_structured() ? value.type_name() : value.dump().substr(0, 40), where, key, least, most);
}

}  // namespace

void refuse(std::string_view where, std::string_view what) {
  throw UserError(
      fmt::format("JSON: {}: {}. The file is damaged or was not written by this program; make it again.", where, what));
}

const Json& member(const Json& json, std::string_view where, const char* key) {
  if (!json.is_object()) refuse(where, fmt::format("found {}, wanted an object", json.type_name()));
  const auto found = json.find(key);
  if (found == json.end()) refuse(where, fmt::format("'{}' is absent", key));
  return *found;
}

const Json& array(const Json& json, std::string_view where, const char* key) {
  const Json& value = member(json, where, key);
  if (!value.is_array()) refuse(where, fmt::format("'{}' is {}, wanted an array", key, value.type_name()));
  return value;
}

std::string text(const Json& json, std::string_view where, const char* key) {
  const Json& value = member(json, where, key);
  if (!value.is_string()) refuse(where, fmt::format("'{}' is {}, wanted a string", key, value.type_name()));
  return value.get<std::string>();
}

std::vector<std::string> texts(const Json& json, std::string_view where, const char* key) {
  std::vector<std::string> result;
  for (const Json& item : array(json, where, key)) {
    if (!item.is_string()) refuse(where, fmt::format("'{}' holds {}, wanted strings", key, item.type_name()));
    result.push_back(item.get<std::string>());
  }
  return result;
}

bool flag(const Json& json, std::string_view where, const char* key) {
  const Json& value = member(json, where, key);
  if (!value.is_boolean()) refuse(where, fmt::format("'{}' is {}, wanted true or false", key, value.type_name()));
  return value.get<bool>();
}

double number(const Json& json, std::string_view where, const char* key) {
  return number_of(member(json, where, key), where, key);
}

std::vector<double> numbers(const Json& json, std::string_view where, const char* key) {
  std::vector<double> result;
  for (const Json& item : array(json, where, key)) result.push_back(number_of(item, where, key));
  return result;
}

int64_t count(const Json& json, std::string_view where, const char* key, int64_t least, int64_t most) {
  return count_of(member(json, where, key), where, key, least, most);
}

std::vector<int64_t> counts(const Json& json, std::string_view where, const char* key, int64_t least, int64_t most) {
  std::vector<int64_t> result;
  for (const Json& item : array(json, where, key)) result.push_back(count_of(item, where, key, least, most));
  return result;
}

void check_counts(const std::vector<int64_t>& values, std::string_view where, const char* key, int64_t least, int64_t most) {
  for (const int64_t value : values) {
    if (value < least || value > most) refuse_count(std::to_string(value), where, key, least, most);
  }
}

void check_unique(const std::vector<std::string>& values, std::string_view where, const char* key) {
  std::unordered_set<std::string_view> seen;
  for (const std::string& value : values) {
    if (!seen.insert(value).second) refuse(where, fmt::format("'{}' holds '{}' twice", key, value));
  }
}

}  // namespace l0gm::json_checks
