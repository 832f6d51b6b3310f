#include "base/toml_json.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/toml_table.h"
#include "l0gm/error.h"

namespace l0gm {

namespace {

nlohmann::json json_of(const toml::node& node, const std::string& source) {
  if (const auto* table = node.as_table()) {
    nlohmann::json out = nlohmann::json::object();
    for (const auto& [key, item] : *table) out[std::string(key.str())] = json_of(item, source);
    return out;
  }
  if (const auto* array = node.as_array()) {
    nlohmann::json out = nlohmann::json::array();
    for (const toml::node& item : *array) out.push_back(json_of(item, source));
    return out;
  }
  if (const auto* flag = node.as_boolean()) return flag->get();
  if (const auto* whole = node.as_integer()) return whole->get();
  if (const auto* real = node.as_floating_point()) return real->get();
  if (const auto* text = node.as_string()) return text->get();
  throw UserError(fmt::format("{} line {}: dates and times are not used here", source, node.source().begin.line));
}

}  // namespace

toml::table parse_toml(std::string_view text, const std::string& source) {
  try {
    return toml::parse(text, source);
  } catch (const toml::parse_error& error) {
    throw UserError(fmt::format("{} line {}, column {}: {}", source, error.source().begin.line, error.source().begin.column,
                                error.description()));
  }
}

nlohmann::json read_toml_as_json(const std::filesystem::path& path) {
  return json_of(parse_toml(read_file(path), path.string()), path.string());
}

}  // namespace l0gm
