#pragma once

#include <cmath>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

// Structs to and from JSON by the `visit` that names each member once:
//   struct Figures {
//     using HasFields = void;
//     double nll = 0;
//     template <class Visitor> void visit(Visitor& v) { v("nll", nll); }
//   };
//   nlohmann::json json = fields_to_json(figures);  Figures again = fields_from_json<Figures>(json);
// A number that is not finite is null, an empty optional is left out. Reading throws nlohmann's exceptions.
namespace l0gm {

// A member that is null in JSON while it has no value (an empty std::optional is left out altogether).
template <class T>
struct Nullable {
  std::optional<T> value;
  bool operator==(const Nullable&) const = default;
};

namespace json_fields_detail {

template <class T>
struct is_optional : std::false_type {};
template <class T>
struct is_optional<std::optional<T>> : std::true_type {};
template <class T>
struct is_vector : std::false_type {};
template <class T>
struct is_vector<std::vector<T>> : std::true_type {};
template <class T>
struct is_map : std::false_type {};
template <class T>
struct is_map<std::map<std::string, T>> : std::true_type {};

template <class T>
struct is_nullable : std::false_type {};
template <class T>
struct is_nullable<Nullable<T>> : std::true_type {};

template <class T>
constexpr bool has_fields = requires { typename T::HasFields; };

class Writer;
class Reader;

template <class T>
nlohmann::json write(const T& value);
template <class T>
void read(const nlohmann::json& json, T& value);

class Writer {
 public:
  explicit Writer(nlohmann::json& out) : out_(out) {}
  template <class T>
  void operator()(const std::string& name, T& value) {
    if constexpr (is_optional<T>::value) {
      if (value) out_[name] = write(*value);
    } else {
      out_[name] = write(value);
    }
  }
  // The members of a part stand beside the others; an empty part is left out. `sign`: a member that tells that it is there.
  template <class T>
  void flat(std::optional<T>& part, const char* /*sign*/) {
    if (part) part->visit(*this);
  }

 private:
  nlohmann::json& out_;
};

class Reader {
 public:
  explicit Reader(const nlohmann::json& in) : in_(in) {}
  template <class T>
  void operator()(const std::string& name, T& value) {
    if constexpr (is_optional<T>::value) {
      value.reset();
      if (const auto found = in_.find(name); found != in_.end()) read(*found, value.emplace());
    } else {
      read(in_.at(name), value);
    }
  }
  template <class T>
  void flat(std::optional<T>& part, const char* sign) {
    part.reset();
    if (in_.contains(sign)) part.emplace().visit(*this);
  }

 private:
  const nlohmann::json& in_;
};

template <class T>
nlohmann::json write(const T& value) {
  if constexpr (has_fields<T>) {
    nlohmann::json out = nlohmann::json::object();
    Writer writer(out);
    const_cast<T&>(value).visit(writer);
    return out;
  } else if constexpr (is_nullable<T>::value) {
    return value.value ? write(*value.value) : nlohmann::json(nullptr);
  } else if constexpr (is_vector<T>::value) {
    nlohmann::json out = nlohmann::json::array();
    for (const auto& item : value) out.push_back(write(item));
    return out;
  } else if constexpr (is_map<T>::value) {
    nlohmann::json out = nlohmann::json::object();
    for (const auto& [name, item] : value) out[name] = write(item);
    return out;
  } else if constexpr (std::is_floating_point_v<T>) {
    return std::isfinite(value) ? nlohmann::json(value) : nlohmann::json(nullptr);
  } else {
    return value;
  }
}

template <class T>
void read(const nlohmann::json& json, T& value) {
  if constexpr (has_fields<T>) {
    Reader reader(json);
    value.visit(reader);
  } else if constexpr (is_nullable<T>::value) {
    value.value.reset();
    if (!json.is_null()) read(json, value.value.emplace());
  } else if constexpr (is_vector<T>::value) {
    value.clear();
    for (const auto& item : json.get_ref<const nlohmann::json::array_t&>()) read(item, value.emplace_back());
  } else if constexpr (is_map<T>::value) {
    value.clear();
    for (const auto& [name, item] : json.get_ref<const nlohmann::json::object_t&>()) read(item, value[name]);
  } else if constexpr (std::is_floating_point_v<T>) {
    value = json.is_null() ? std::numeric_limits<T>::quiet_NaN() : json.get<T>();
  } else {
    value = json.get<T>();
  }
}

}  // namespace json_fields_detail

template <class T>
nlohmann::json fields_to_json(const T& value) {
  return json_fields_detail::write(value);
}

template <class T>
T fields_from_json(const nlohmann::json& json) {
  T value;
  json_fields_detail::read(json, value);
  return value;
}

}  // namespace l0gm
