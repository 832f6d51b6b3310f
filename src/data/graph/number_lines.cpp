#include "data/graph/number_lines.h"

#include <charconv>
#include <cmath>
#include <cstring>

#include "base/text.h"

namespace l0gm {
namespace {

// A number that from_chars does not accept: with blanks or a plus around it, or too small for a float.
bool parse_unusual(std::string_view text, float& number) {
  const auto value = parse_double(text);
  if (value) number = static_cast<float>(*value);
  return value.has_value();
}

}  // namespace

bool parse_numbers(std::string_view line, std::vector<float>& numbers, size_t& column) {
  numbers.clear();
  const char* place = line.data();
  const char* const end = place + line.size();
  for (column = 0;; ++column) {
    float number = 0;
    auto [after, error] = std::from_chars(place, end, number);
    if (error != std::errc() || (after != end && *after != ',')) {
      const auto* comma = static_cast<const char*>(std::memchr(place, ',', static_cast<size_t>(end - place)));
      after = comma == nullptr ? end : comma;
      if (!parse_unusual({place, static_cast<size_t>(after - place)}, number)) return false;
    }
    if (!std::isfinite(number)) return false;
    numbers.push_back(number);
    if (after == end) return true;
    place = after + 1;
  }
}

bool parse_pair(std::string_view line, int64_t& first, int64_t& second) {
  const char* const end = line.data() + line.size();
  const auto [comma, error] = std::from_chars(line.data(), end, first);
  if (error == std::errc() && comma != end && *comma == ',') {
    const auto [after, second_error] = std::from_chars(comma + 1, end, second);
    if (second_error == std::errc() && after == end) return true;
  }
  const size_t place = line.find(',');  // blanks around the numbers
  if (place == std::string_view::npos) return false;
  const auto left = parse_integer(trim(line.substr(0, place))), right = parse_integer(trim(line.substr(place + 1)));
  if (left) first = *left;
  if (right) second = *right;
  return left && right;
}

}  // namespace l0gm
