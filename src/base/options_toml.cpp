#include <fmt/format.h>

#include <algorithm>

#include "base/files.h"
#include "base/log.h"
#include "base/options.h"
#include "base/text.h"
#include "base/toml_table.h"
#include "l0gm/error.h"

namespace l0gm {

namespace {

namespace fs = std::filesystem;

std::string where_of(const toml::node& node, const std::string& source) {
  const auto line = node.source().begin.line;
  return line > 0 ? fmt::format("{} line {}", source, line) : source;
}

OptionValue list_of(const toml::array& array, const std::string& where) {
  std::vector<double> numbers;
  std::vector<std::string> texts;
  for (const toml::node& item : array) {
    if (const auto number = item.value<double>(); number && !item.is_boolean())
      numbers.push_back(*number);
    else if (const auto text = item.value<std::string>())
      texts.push_back(*text);
    else
      throw UserError(where + ": a list holds numbers or texts, nothing else");
  }
  if (!numbers.empty() && !texts.empty()) throw UserError(where + ": a list holds numbers or texts, not both");
  if (!texts.empty()) return texts;
  return numbers;
}

// Scalars and lists; nullopt for a table, which the caller walks into.
std::optional<OptionValue> value_of(const toml::node& node, const std::string& where) {
  if (node.is_table()) return std::nullopt;
  if (const auto* flag = node.as_boolean()) return OptionValue(flag->get());
  if (const auto* whole = node.as_integer()) return OptionValue(static_cast<int64_t>(whole->get()));
  if (const auto* real = node.as_floating_point()) return OptionValue(real->get());
  if (const auto* text = node.as_string()) return OptionValue(text->get());
  if (const auto* array = node.as_array()) return list_of(*array, where);
  throw UserError(where + ": dates and times are not used by any option");
}

OptionValue texts_of(const toml::table& table, const std::string& where) {
  std::map<std::string, std::string> texts;
  for (const auto& [key, node] : table) {
    const auto text = node.value<std::string>();
    if (!text) throw UserError(fmt::format("{}: '{}' must be text", where, key.str()));
    texts[std::string(key.str())] = *text;
  }
  return texts;
}

// Calls leaf(key, node) for everything that is an option of its own: `is_option` tells where a table is one (data.types).
template <class IsOption, class Leaf>
void walk(const toml::table& table, const std::string& prefix, const IsOption& is_option, const Leaf& leaf) {
  for (const auto& [key, node] : table) {
    const std::string full = prefix + std::string(key.str());
    if (node.is_table() && !is_option(full))
      walk(*node.as_table(), full + ".", is_option, leaf);
    else
      leaf(full, node);
  }
}

// The option's path, if it is relative, seen from `folder`; or from the working folder, where only that has it.
void make_absolute(Option& option, const fs::path& folder) {
  const fs::path given = std::get<std::string>(option.value());
  if (given.empty() || given.is_absolute()) return;
  fs::path found = fs::absolute(folder / given).lexically_normal();
  const fs::path here = fs::absolute(given).lexically_normal();
  std::error_code ignored;
  if (found != here && !fs::exists(found, ignored) && fs::exists(here, ignored)) {
    log_info(fmt::format("{}: {} is not there; taken from the working folder: {}", option.key, found.string(), here.string()));
    found = here;
  }
  option.assign(found.string());
}

}  // namespace

void OptionList::read_toml_text(std::string_view text, const std::string& source) {
  const toml::table table = parse_toml(text, source);
  const auto is_option = [&](const std::string& key) {
    return std::any_of(options_.begin(), options_.end(), [&](const Option& option) {
      return option.key == key && std::holds_alternative<std::map<std::string, std::string>>(option.value());
    });
  };
  walk(table, "", is_option, [&](const std::string& key, const toml::node& node) {
    const std::string where = where_of(node, source);
    if (const auto gone = retired_.find(key); gone != retired_.end()) {
      log_warning(fmt::format("{}: {} is no longer read: {}", where, key, gone->second));
      return;
    }
    Option& option = [&]() -> Option& {
      try {
        return find(key);
      } catch (const UserError& error) {
        throw UserError(where + ": " + error.what());
      }
    }();
    const auto value = value_of(node, where);
    assign(option, value ? *value : texts_of(*node.as_table(), where), where);
  });
}

void OptionList::read_toml(const std::filesystem::path& path) {
  read_toml_text(read_file(path), path.string());
  for (Option& option : options_) {
    if (option.is_path && option.named) make_absolute(option, path.parent_path());
  }
}

void OptionList::set(std::string_view assignment) {
  if (const auto offset = first_invalid_utf8(assignment)) {
    throw UserError(fmt::format("--set {}…: byte {} is not UTF-8", assignment.substr(0, *offset), *offset + 1));
  }
  const size_t equals = assignment.find('=');
  if (equals == std::string_view::npos) {
    throw UserError(fmt::format("--set wants key=value, such as --set train.epochs=10; found '{}'", assignment));
  }
  Option& option = find(std::string(trim(assignment.substr(0, equals))));
  const std::string text(trim(assignment.substr(equals + 1)));
  const std::string where = fmt::format("--set {}", assignment);
  toml::table table;
  try {
    table = toml::parse("value = " + text);
  } catch (const toml::parse_error&) {  // no TOML: a number as people write it (.5), or bare text (gate.unit=group)
    const auto number = parse_double(text);
    assign(option, number ? OptionValue(*number) : OptionValue(text), where);
    if (option.is_path) make_absolute(option, {});
    return;
  }
  const toml::node& node = *table.get("value");
  std::optional<OptionValue> value;
  if (option.type == "text" && (node.is_number() || node.is_boolean())) {
    value = text;  // data.protocol=1: a text needs no quotes here
  } else {
    value = value_of(node, where);
  }
  assign(option, value ? *value : texts_of(*node.as_table(), where), where);
  if (option.is_path) make_absolute(option, {});
}

std::string OptionList::toml() const {
  std::string text, section;
  const auto bare = [](const std::string& part) {
    const bool plain = !part.empty() && std::all_of(part.begin(), part.end(), [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
    });
    return plain ? part : to_toml(part);
  };
  for (const Option& option : options_) {
    const OptionValue value = option.value();
    if (std::holds_alternative<std::monostate>(value)) continue;
    const size_t last = option.key.rfind('.');
    std::string prefix = option.key.substr(0, last);
    for (const Family& family : families_) {  // a user's name may need quotes
      if (prefix.starts_with(family.prefix + ".")) prefix = family.prefix + "." + bare(prefix.substr(family.prefix.size() + 1));
    }
    if (prefix != section) text += fmt::format("{}[{}]\n", text.empty() ? "" : "\n", section = prefix);
    text += fmt::format("{} = {}\n", option.key.substr(last + 1), to_toml(value));
  }
  return text;
}

}  // namespace l0gm
