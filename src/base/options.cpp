#include "base/options.h"

#include <fmt/format.h>

#include <algorithm>

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "l0gm/error.h"

namespace l0gm {

namespace option_detail {

std::string describe(const Limit& limit) {
  const bool has_low = std::isfinite(limit.low), has_high = std::isfinite(limit.high);
  const std::string low = fmt::format("{} {}", limit.low_open ? "above" : "at least", limit.low);
  const std::string high = fmt::format("{} {}", limit.high_open ? "below" : "at most", limit.high);
  if (has_low && has_high) return low + ", " + high;
  return has_low ? low : has_high ? high : "";
}

double number(const OptionValue& value) {
  if (const auto* whole = std::get_if<int64_t>(&value)) return static_cast<double>(*whole);
  if (const auto* real = std::get_if<double>(&value)) return *real;
  throw std::string("is a number");
}

int64_t whole_number(const OptionValue& value) {
  if (const auto* whole = std::get_if<int64_t>(&value)) return *whole;
  if (const auto* real = std::get_if<double>(&value); real && *real == std::floor(*real) && std::abs(*real) < 9e15) {
    return static_cast<int64_t>(*real);
  }
  throw std::string("is a whole number");
}

void check(double value, const Limit& limit) {
  if (!std::isfinite(value)) throw std::string("must be finite");
  if (!limit.allows(value)) throw "must be " + describe(limit);
}

size_t enum_index(const OptionValue& value, const std::vector<std::string>& names) {
  const auto* text = std::get_if<std::string>(&value);
  for (size_t i = 0; text != nullptr && i < names.size(); ++i) {
    if (names[i] == *text) return i;
  }
  throw Refusal{"is " + one_of(names), text != nullptr ? did_you_mean(*text, names) : ""};
}

std::vector<std::string> names_in_set(const OptionValue& value, const std::vector<std::string>& names) {
  if (const auto* list = std::get_if<std::vector<std::string>>(&value); list != nullptr && !list->empty()) return *list;
  const auto* text = std::get_if<std::string>(&value);
  if (text == nullptr || text->empty()) throw "is " + one_of(names) + ", or several joined by +";
  std::vector<std::string> found;
  for (size_t begin = 0, end = 0; end != std::string::npos; begin = end + 1) {
    end = text->find('+', begin);
    found.emplace_back(trim(std::string_view(*text).substr(begin, end - begin)));
  }
  return found;
}

std::string with_article(const std::string& type) {
  return fmt::format("{}{}", type.starts_with("list") || type.starts_with("table") ? "a " : "", type);
}

std::string one_of(const std::vector<std::string>& names) { return "one of " + join(names, ", "); }

}  // namespace option_detail

namespace {

// TOML basic strings read JSON's, but for one character that JSON leaves as it is.
std::string quoted(const std::string& text) {
  std::string result = nlohmann::json(text).dump(-1, ' ', false);
  for (size_t at = 0; (at = result.find('\x7f', at)) != std::string::npos;) result.replace(at, 1, "\\u007F");
  return result;
}

template <class Items, class Write>
std::string listed(const Items& items, Write write) {
  std::vector<std::string> parts;
  for (const auto& item : items) parts.push_back(write(item));
  return join(parts, ", ");
}

std::string toml_number(double value) {
  std::string text = shortest(value);
  return text.find_first_of(".en") == std::string::npos ? text + ".0" : text;
}

}  // namespace

std::string to_toml(const OptionValue& value) {
  struct Writer {
    std::string operator()(std::monostate) const { return "unset"; }
    std::string operator()(bool v) const { return v ? "true" : "false"; }
    std::string operator()(int64_t v) const { return std::to_string(v); }
    std::string operator()(double v) const { return toml_number(v); }
    std::string operator()(const std::string& v) const { return quoted(v); }
    std::string operator()(const std::vector<double>& v) const {
      return "[" + listed(v, [](double item) { return item == 0 && std::signbit(item) ? "-0.0" : shortest(item); }) + "]";
    }
    std::string operator()(const std::vector<std::string>& v) const { return "[" + listed(v, quoted) + "]"; }
    std::string operator()(const std::map<std::string, std::string>& v) const {
      return "{ " + listed(v, [](const auto& item) { return quoted(item.first) + " = " + quoted(item.second); }) + " }";
    }
  };
  return std::visit(Writer{}, value);
}

std::string kind_of(const OptionValue& value) {
  static const std::vector<std::string> kinds = {"nothing", "true or false",     "a whole number",  "a number",
                                                 "text",    "a list of numbers", "a list of texts", "a table"};
  return kinds[value.index()];
}

std::vector<std::string> OptionList::keys() const {
  std::vector<std::string> names;
  for (const Option& option : options_) names.push_back(option.key);
  return names;
}

Option& OptionList::find(const std::string& key) {
  const auto existing = [&]() -> Option* {
    for (Option& option : options_) {
      if (option.key == key) return &option;
    }
    return nullptr;
  };
  if (Option* option = existing()) return *option;
  for (const Family& family : families_) {  // columns.NAME.type: the name may hold dots, the last part is the option
    const size_t last = key.rfind('.');
    if (!key.starts_with(family.prefix + ".") || last <= family.prefix.size()) continue;
    const std::string name = key.substr(family.prefix.size() + 1, last - family.prefix.size() - 1);
    std::vector<std::string> allowed;
    for (const Option& option : family.example) allowed.push_back(option.key.substr(option.key.rfind('.') + 1));
    const std::string leaf = key.substr(last + 1);
    if (std::find(allowed.begin(), allowed.end(), leaf) == allowed.end()) {
      throw UserError(fmt::format("unknown option '{}': {}.NAME has {}.{}", key, family.prefix, join(allowed, ", "),
                                  did_you_mean(leaf, allowed)));
    }
    family.create(options_, name);
    return *existing();
  }
  std::vector<std::string> spelled_out;  // those that end so: the section was left out
  for (const Option& option : options_) {
    if (option.key.ends_with("." + key)) spelled_out.push_back(option.key);
  }
  const std::string hint =
      spelled_out.empty() ? did_you_mean(key, keys()) : fmt::format(" Did you mean {}?", join(spelled_out, " or "));
  throw UserError(fmt::format("unknown option '{}'.{} `l0gm train --help` lists all of them.", key, hint));
}

bool OptionList::named(const std::string& key) { return find(key).named; }

OptionValue OptionList::declared_default(const std::string& key) const {
  for (const Family& family : families_) {
    if (!key.starts_with(family.prefix + ".")) continue;
    for (const Option& option : family.example) {
      if (option.key.substr(option.key.rfind('.')) == key.substr(key.rfind('.'))) return option.default_value;
    }
  }
  for (const Option& option : options_) {
    if (option.key == key) return option.default_value;
  }
  throw std::logic_error(fmt::format("there is no option '{}'", key));
}

const ReadBy* OptionList::unmet(const Option& option, std::string_view modality) const {
  const auto value_of = [&](std::string_view key) -> OptionValue {
    if (key == "modality") return std::string(modality);
    for (const Option& other : options_) {
      if (other.key == key) return unmet(other, modality) == nullptr ? other.value() : OptionValue{};  // not read itself: not set
    }
    throw std::logic_error(fmt::format("{} is read by the unknown option {}", option.key, key));
  };
  const auto holds = [&](std::string_view condition) {
    constexpr std::string_view set = " is set", equals = " = ";
    if (condition.ends_with(set)) {
      const OptionValue value = value_of(condition.substr(0, condition.size() - set.size()));
      return !std::holds_alternative<std::monostate>(value) && value != OptionValue(std::string());
    }
    const size_t at = condition.find(equals);
    if (at == std::string_view::npos)
      throw std::logic_error(fmt::format("{}: the condition '{}' has no ' = '", option.key, condition));
    const OptionValue value = value_of(condition.substr(0, at));
    const std::string shown = std::holds_alternative<std::string>(value) ? std::get<std::string>(value) : to_toml(value);
    for (std::string_view left = condition.substr(at + equals.size()); !left.empty();) {
      const size_t end = std::min(left.find('|'), left.size());
      if (trim(left.substr(0, end)) == shown) return true;
      left.remove_prefix(std::min(end + 1, left.size()));
    }
    return false;
  };
  const auto one_holds = [&](std::string_view conditions) {
    constexpr std::string_view between = " or ";
    for (size_t at = conditions.find(between); at != std::string_view::npos; at = conditions.find(between)) {
      if (holds(conditions.substr(0, at))) return true;
      conditions.remove_prefix(at + between.size());
    }
    return holds(conditions);
  };
  for (const ReadBy& condition : option.read_by) {
    if (!one_holds(condition.condition)) return &condition;
  }
  return nullptr;
}

void OptionList::assign(Option& option, const OptionValue& value, const std::string& where) {
  try {
    option.assign(value);
    option.named = true;
  } catch (const std::string& reason) {
    throw UserError(fmt::format("{}: {} {}; found {} ({})", where, option.key, reason, to_toml(value), kind_of(value)));
  } catch (const option_detail::Refusal& refusal) {
    const std::string kind = std::holds_alternative<std::string>(value) ? "" : fmt::format(" ({})", kind_of(value));
    throw UserError(
        fmt::format("{}: {} {}; found {}{}.{}", where, option.key, refusal.reason, to_toml(value), kind, refusal.hint));
  }
}

std::string OptionList::help() const {
  std::string text, section;
  const auto add = [&](const Option& option) {
    const std::string prefix = option.key.substr(0, option.key.rfind('.'));
    if (prefix != section) text += fmt::format("\n[{}]\n", section = prefix);
    text += fmt::format("  {:<26} {}\n", option.key.substr(option.key.rfind('.') + 1), option.description);
    text += fmt::format("  {:<26} {}{}; default {}\n", "", option.type, option.limit.empty() ? "" : ", " + option.limit,
                        to_toml(option.default_value));
  };
  for (const Option& option : options_) add(option);
  for (const Family& family : families_) {
    for (const Option& option : family.example) add(option);
  }
  return text;
}

std::string OptionList::markdown() const {
  std::string text, section;
  const auto add = [&](const Option& option) {
    const std::string prefix = option.key.substr(0, option.key.rfind('.'));
    if (prefix != section) {
      text += fmt::format("\n## `[{}]`\n\n| option | type | default | meaning |\n|---|---|---|---|\n", section = prefix);
    }
    std::vector<std::string> conditions;
    for (const ReadBy& condition : option.read_by) {
      std::string text_of = condition.condition;  // a bar would end the cell
      for (size_t at = 0; (at = text_of.find(" | ")) != std::string::npos;) text_of.replace(at, 3, " or ");
      conditions.push_back("`" + text_of + "`");
    }
    text += fmt::format("| `{}` | {}{} | `{}` | {}{} |\n", option.key.substr(option.key.rfind('.') + 1), option.type,
                        option.limit.empty() ? "" : "; " + option.limit, to_toml(option.default_value), option.description,
                        conditions.empty() ? "" : ". Read where " + join(conditions, ", "));
  };
  for (const Option& option : options_) add(option);
  for (const Family& family : families_) {
    for (const Option& option : family.example) add(option);
  }
  return text;
}

nlohmann::json OptionList::json() const {
  nlohmann::json result = nlohmann::json::object();
  for (const Option& option : options_) {
    std::visit(
        [&](const auto& value) {
          if constexpr (!std::is_same_v<std::decay_t<decltype(value)>, std::monostate>) result[option.key] = value;
        },
        option.value());
  }
  return result;
}

}  // namespace l0gm
