// How a component declares its options: a struct with defaults and one `visit` that names each member once.
//   struct GateOptions {
//     double gamma = -0.1;
//     template <class Visitor> void visit(Visitor& v) { v("gamma", gamma, "lower end of the stretch", below(0.0)); }
//   };
// TOML, --set, --help, the reference page, the resolved config and the manifest all read that one declaration.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <string>
#include <string_view>

namespace l0gm {

// The range a number must lie in.
struct Limit {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  bool low_open = false, high_open = false;
  constexpr bool allows(double value) const {
    return (low_open ? value > low : value >= low) && (high_open ? value < high : value <= high);
  }
};
constexpr double unbounded = std::numeric_limits<double>::infinity();
constexpr Limit below(double high) { return {-unbounded, high, true, true}; }
constexpr Limit above(double low) { return {low, unbounded, true, true}; }
constexpr Limit at_least(double low) { return {low, unbounded, false, true}; }
constexpr Limit between(double low, double high) { return {low, high, false, false}; }
constexpr Limit inside(double low, double high) { return {low, high, true, true}; }

// The names of an enumeration, in the order of its enumerators; specialise as
//   template <> inline constexpr auto enum_names<Noise> = std::to_array<std::string_view>({"example", "batch"});
template <class Enum>
inline constexpr int enum_names = 0;

template <class Enum>
constexpr std::string_view name_of_enum(Enum value) {
  return enum_names<Enum>[static_cast<size_t>(value)];
}

// Some enumerators together; in files their names joined by "+". One alone converts to a set of itself.
template <class Enum>
class EnumSet {
 public:
  constexpr EnumSet(Enum one) : bits_(bit(one)) {}  // NOLINT(google-explicit-constructor)
  constexpr EnumSet(std::initializer_list<Enum> some) {
    for (const Enum one : some) bits_ |= bit(one);
  }
  constexpr bool has(Enum one) const { return (bits_ & bit(one)) != 0; }
  constexpr void add(Enum one) { bits_ |= bit(one); }
  constexpr bool operator==(const EnumSet&) const = default;
  std::string names() const {
    std::string joined;
    for (size_t i = 0; i < enum_names<Enum>.size(); ++i) {
      if (!has(static_cast<Enum>(i))) continue;
      if (!joined.empty()) joined += '+';
      joined += enum_names<Enum>[i];
    }
    return joined;
  }

 private:
  static constexpr uint64_t bit(Enum one) { return uint64_t{1} << static_cast<unsigned>(one); }
  uint64_t bits_ = 0;
};

}  // namespace l0gm
