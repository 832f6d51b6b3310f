#include "report/shown_options.h"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <filesystem>
#include <sstream>

#include "base/text.h"
#include "l0gm/error.h"

namespace l0gm {
namespace {

bool is_machine_path(std::string_view text) {
  const bool drive = text.size() > 2 && text[1] == ':' && (text[2] == '\\' || text[2] == '/');
  return text.starts_with('/') || text.starts_with("~/") || text.starts_with("\\\\") || text.starts_with("file:") || drive;
}

class Flattened {
 public:
  Flattened(const std::set<std::string>& path_keys, bool with_paths) : path_keys_(path_keys), with_paths_(with_paths) {}
  void add(const std::string& key, const toml::node& node) {
    const toml::table* table = node.as_table();
    if (table == nullptr) {
      options.emplace_back(key, text_of(key, node));
      return;
    }
    for (const auto& [name, inner] : *table)
      add(key.empty() ? std::string(name.str()) : fmt::format("{}.{}", key, name.str()), inner);
  }
  ShownOptions options;

 private:
  std::string text_of(const std::string& key, const toml::node& node) const {
    if (const auto* text = node.as_string()) {
      if (with_paths_) return text->get();
      return path_keys_.contains(key) ? without_folders(text->get()) : without_machine_path(text->get());
    }
    if (const auto* array = node.as_array()) {
      std::string list;
      for (const toml::node& item : *array) list += (list.empty() ? "" : ", ") + text_of(key, item);
      return list;
    }
    if (const auto* number = node.as_floating_point()) return shortest(number->get());
    std::ostringstream out;
    node.visit([&out](const auto& value) { out << value; });
    return out.str();
  }
  const std::set<std::string>& path_keys_;
  bool with_paths_;
};

}  // namespace

std::string without_folders(const std::string& path) {
  const size_t end = path.find_last_not_of("/\\"), slash = path.find_last_of("/\\", end);
  if (end == path.npos || slash == path.npos) return path;
  return "…/" + path.substr(slash + 1, end - slash);
}

std::string without_machine_path(const std::string& text) { return is_machine_path(text) ? without_folders(text) : text; }

ShownOptions shown_options(std::string_view toml, const std::set<std::string>& path_keys, bool with_paths) {
  try {
    Flattened flattened(path_keys, with_paths);
    flattened.add("", toml::parse(toml));
    std::sort(flattened.options.begin(), flattened.options.end());
    return flattened.options;
  } catch (const toml::parse_error& error) {
    throw UserError(fmt::format("config.toml is damaged: {}", error.description()));
  }
}

}  // namespace l0gm
