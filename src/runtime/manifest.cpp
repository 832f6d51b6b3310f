#include "runtime/manifest.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/json_checks.h"
#include "l0gm/error.h"

namespace l0gm {
namespace {

using nlohmann::json;

constexpr int deepest = 64;  // what is written nests 6 deep; printing and comparing JSON costs stack per level

}  // namespace

json parse_manifest(std::string_view text) {
  if (text.empty() || text.front() != '{') throw UserError("its manifest does not begin with '{'");
  std::vector<std::set<std::string>> open;  // keys so far of the objects around the parser's place
  const auto watch = [&open](int depth, json::parse_event_t event, json& value) {
    if (depth > deepest) throw UserError(fmt::format("its manifest nests deeper than {} levels", deepest));
    if (event == json::parse_event_t::object_start) open.emplace_back();
    if (event == json::parse_event_t::object_end) open.pop_back();
    if (event == json::parse_event_t::key && !open.back().insert(value.get<std::string>()).second) {
      throw UserError(fmt::format("its manifest has '{}' twice in one object", value.get<std::string>()));
    }
    return true;
  };
  try {
    return json::parse(text, watch);
  } catch (const json::exception& error) {
    throw UserError(fmt::format("its manifest is not valid JSON: {}", error.what()));
  }
}

void refuse_other_keys(const json& value, std::string_view where, std::initializer_list<std::string_view> keys) {
  if (!value.is_object()) json_checks::refuse(where, fmt::format("found {}, wanted an object", value.type_name()));
  for (const auto& item : value.items()) {
    if (std::find(keys.begin(), keys.end(), item.key()) == keys.end()) {
      json_checks::refuse(where, fmt::format("'{}' is not known in format version 1", item.key()));
    }
  }
}

void refuse_unknown_keys(const json& value, const json& known, std::string_view where) {
  if (value.is_object() && known.is_object()) {
    for (const auto& item : value.items()) {
      const auto same = known.find(item.key());
      if (same == known.end()) json_checks::refuse(where, fmt::format("'{}' is not known in format version 1", item.key()));
      refuse_unknown_keys(item.value(), *same, item.key());
    }
  }
  if (value.is_array() && known.is_array()) {
    for (size_t i = 0; i < std::min(value.size(), known.size()); ++i) refuse_unknown_keys(value[i], known[i], where);
  }
}

}  // namespace l0gm
