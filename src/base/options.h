#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "l0gm/options.h"

namespace l0gm {

// The value of an option on its way between a file, the command line and a struct member. monostate: not set.
using OptionValue = std::variant<std::monostate, bool, int64_t, double, std::string, std::vector<double>,
                                 std::vector<std::string>, std::map<std::string, std::string>>;
std::string to_toml(const OptionValue& value);
std::string kind_of(const OptionValue& value);  // "a whole number", "text", …: for messages

// When an option has any effect: "graph.sampler = neighbour", "model.name = gcn | sage", "prune.share is set", "modality = graph"
// (the kind of data), or two of these joined by " or ". An option that is set where nothing reads it is warned of, or refused.
struct ReadBy {
  std::string condition;
  bool refused = false;
};

// One option of a component, declared by the component's `visit`.
struct Option {
  std::string key;  // "gate.target_active"
  std::string description;
  std::string type;   // "number", "one of dimension, group, fine, none", …
  std::string limit;  // "above 0", or ""
  OptionValue default_value;
  std::vector<ReadBy> read_by;                     // conditions under which anything reads it; none: always
  bool named = false;                              // set by a file or by --set
  bool is_path = false;                            // of a file or folder: absolute as soon as it is set
  std::function<void(const OptionValue&)> assign;  // throws std::string with the reason when the value does not fit
  std::function<OptionValue()> value;
};

// All options of a struct, flattened: the one list that TOML, --set, --help, the reference page and the resolved config read.
class OptionList {
 public:
  template <class Root>
  static OptionList of(Root& root);

  // A key of earlier versions: files may hold it, nothing reads it, and a warning says why.
  void retire(std::string key, std::string reason) { retired_[std::move(key)] = std::move(reason); }
  // Paths in a file are relative to its folder; those that only the working folder has are taken from there, with a note.
  void read_toml(const std::filesystem::path& path);
  void read_toml_text(std::string_view text, const std::string& source);
  void set(std::string_view assignment);  // "key=value": the value as TOML, or as bare text; paths: from the working folder
  Option& find(const std::string& key);   // UserError with the nearest name when there is none
  const std::vector<Option>& options() const { return options_; }
  bool named(const std::string& key);
  // What the declaration says, for options of a family, too.
  OptionValue declared_default(const std::string& key) const;
  // The first condition of the option that does not hold; nullptr: it is read. `modality`: the kind of data.
  const ReadBy* unmet(const Option& option, std::string_view modality) const;

  std::string toml() const;      // complete, resolved; unset optionals are left out
  std::string help() const;      // for a terminal
  std::string markdown() const;  // the reference page's tables
  nlohmann::json json() const;

 private:
  // Options of a user-named part, such as columns.NAME.type: made when a key first names it.
  struct Family {
    std::string prefix;  // "columns"
    std::function<void(std::vector<Option>& options, const std::string& name)> create;
    std::vector<Option> example;
  };
  class Collector;
  void assign(Option& option, const OptionValue& value, const std::string& where);
  std::vector<std::string> keys() const;
  std::vector<Option> options_;
  std::vector<Family> families_;
  std::map<std::string, std::string> retired_;
};

namespace option_detail {

std::string describe(const Limit& limit);
double number(const OptionValue& value);  // throws std::string unless it is one
int64_t whole_number(const OptionValue& value);
void check(double value, const Limit& limit);  // throws std::string
// Why a value is refused, and what was meant instead, for the end of the message.
struct Refusal {
  std::string reason, hint;
};
size_t enum_index(const OptionValue& value, const std::vector<std::string>& names);

template <class T>
struct is_optional : std::false_type {};
template <class T>
struct is_optional<std::optional<T>> : std::true_type {};

template <class T>
struct is_enum_set : std::false_type {};
template <class E>
struct is_enum_set<EnumSet<E>> : std::true_type {
  using Enum = E;
};
// What names a set of enumerators, joined by "+" or as a list.
std::vector<std::string> names_in_set(const OptionValue& value, const std::vector<std::string>& names);

template <class T>
std::vector<std::string> names_of() {
  return {enum_names<T>.begin(), enum_names<T>.end()};
}

std::string one_of(const std::vector<std::string>& names);
std::string with_article(const std::string& type);  // "a list of texts", but "text"

template <class T>
std::string type_name() {
  if constexpr (is_optional<T>::value)
    return type_name<typename T::value_type>() + ", unset";
  else if constexpr (std::is_same_v<T, bool>)
    return "true or false";
  else if constexpr (std::is_enum_v<T>)
    return one_of(names_of<T>());
  else if constexpr (is_enum_set<T>::value)
    return one_of(names_of<typename is_enum_set<T>::Enum>()) + ", or several joined by +";
  else if constexpr (std::is_integral_v<T>)
    return "whole number";
  else if constexpr (std::is_floating_point_v<T>)
    return "number";
  else if constexpr (std::is_same_v<T, std::string>)
    return "text";
  else if constexpr (std::is_same_v<T, std::vector<std::string>>)
    return "list of texts";
  else if constexpr (std::is_same_v<T, std::vector<double>>)
    return "list of numbers";
  else if constexpr (std::is_same_v<T, std::vector<int64_t>>)
    return "list of whole numbers";
  else
    return "table of texts";
}

template <class T>
OptionValue to_value(const T& member) {
  if constexpr (is_optional<T>::value)
    return member ? to_value(*member) : OptionValue{};
  else if constexpr (std::is_enum_v<T>)
    return std::string(name_of_enum(member));
  else if constexpr (is_enum_set<T>::value)
    return member.names();
  else if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>)
    return static_cast<int64_t>(member);
  else if constexpr (std::is_same_v<T, std::vector<int64_t>>)
    return std::vector<double>(member.begin(), member.end());
  else
    return member;
}

template <class T>
void from_value(T& member, const OptionValue& value, const Limit& limit) {
  if constexpr (is_optional<T>::value) {
    typename T::value_type inner{};
    from_value(inner, value, limit);
    member = inner;
  } else if constexpr (std::is_enum_v<T>) {
    member = static_cast<T>(enum_index(value, names_of<T>()));
  } else if constexpr (is_enum_set<T>::value) {
    using Enum = typename is_enum_set<T>::Enum;
    T parsed{};
    for (const std::string& name : names_in_set(value, names_of<Enum>())) {
      parsed.add(static_cast<Enum>(enum_index(name, names_of<Enum>())));
    }
    member = parsed;
  } else if constexpr (std::is_same_v<T, bool>) {
    if (!std::holds_alternative<bool>(value)) throw std::string("is true or false");
    member = std::get<bool>(value);
  } else if constexpr (std::is_integral_v<T>) {
    const int64_t number = whole_number(value);
    check(static_cast<double>(number), limit);
    member = static_cast<T>(number);
  } else if constexpr (std::is_floating_point_v<T>) {
    const double parsed = number(value);
    check(parsed, limit);
    member = parsed;
  } else if constexpr (std::is_same_v<T, std::vector<std::string>>) {
    if (const auto* empty = std::get_if<std::vector<double>>(&value); empty && empty->empty())
      member.clear();
    else if (!std::holds_alternative<T>(value))
      throw std::string("is a list of texts");
    else
      member = std::get<T>(value);
  } else if constexpr (std::is_same_v<T, std::vector<int64_t>>) {
    const auto* one = std::get_if<int64_t>(&value);  // without brackets: a list of one
    if (one == nullptr && !std::holds_alternative<std::vector<double>>(value)) throw "is " + with_article(type_name<T>());
    T parsed;
    for (const double item :
         one != nullptr ? std::vector<double>{static_cast<double>(*one)} : std::get<std::vector<double>>(value)) {
      parsed.push_back(whole_number(item));
      check(item, limit);
    }
    member = parsed;
  } else {
    if (!std::holds_alternative<T>(value)) throw "is " + with_article(type_name<T>());
    member = std::get<T>(value);
  }
}

}  // namespace option_detail

// The visitor that flattens: v("name", member, "description"[, limit]), v.section("name", part), v.family("name", map, "NAME").
class OptionList::Collector {
 public:
  Collector(std::vector<Option>& options, std::vector<Family>* families, std::string prefix, std::vector<ReadBy> read_by = {})
      : options_(options), families_(families), prefix_(std::move(prefix)), read_by_(std::move(read_by)) {}

  // What an option's declaration may add.
  struct Declared {
    Option& option;
    Declared& read_by(const char* condition) {
      option.read_by.push_back({condition, false});
      return *this;
    }
    Declared& path() {
      option.is_path = true;
      return *this;
    }
    Declared& refused_unless(const char* condition) {
      option.read_by.push_back({condition, true});
      return *this;
    }
  };

  template <class T>
  Declared operator()(const char* name, T& member, const char* description, Limit limit = {}) {
    Option option;
    option.read_by = read_by_;
    option.key = prefix_ + name;
    option.description = description;
    option.type = option_detail::type_name<T>();
    option.limit = option_detail::describe(limit);
    option.default_value = option_detail::to_value(member);
    option.assign = [&member, limit](const OptionValue& value) { option_detail::from_value(member, value, limit); };
    option.value = [&member] { return option_detail::to_value(member); };
    options_.push_back(std::move(option));
    return {options_.back()};
  }

  // `read_by`: a condition for all of its options.
  template <class Part>
  void section(const char* name, Part& part, const char* read_by = nullptr) {
    Collector inner(options_, families_, prefix_ + name + ".", with(read_by));
    part.visit(inner);
  }

  template <class Part>
  void family(const char* name, std::map<std::string, Part>& parts, const char* placeholder, const char* read_by = nullptr) {
    const std::string prefix = prefix_ + name;
    Family family{prefix, nullptr, {}};
    const std::vector<ReadBy> conditions = with(read_by);
    family.create = [&parts, prefix, conditions](std::vector<Option>& options, const std::string& part) {
      Collector inner(options, nullptr, prefix + "." + part + ".", conditions);
      parts[part].visit(inner);
    };
    static Part example;  // only its defaults and descriptions are read
    Collector inner(family.example, nullptr, prefix + "." + placeholder + ".", conditions);
    example.visit(inner);
    families_->push_back(std::move(family));
    for (auto& [part, unused] : parts) families_->back().create(options_, part);
  }

 private:
  std::vector<ReadBy> with(const char* condition) const {
    std::vector<ReadBy> conditions = read_by_;
    if (condition != nullptr) conditions.push_back({condition, false});
    return conditions;
  }
  std::vector<Option>& options_;
  std::vector<Family>* families_;
  std::string prefix_;
  std::vector<ReadBy> read_by_;
};

template <class Root>
OptionList OptionList::of(Root& root) {
  OptionList list;
  Collector collector(list.options_, &list.families_, "");
  root.visit(collector);
  return list;
}

}  // namespace l0gm
