#include "encode/table/number_text.h"

#include <algorithm>
#include <array>

#include "base/text.h"

namespace l0gm {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Whether each separator stands between a group of one to three digits and groups of three: 1,234,567.
bool grouped_well(std::string_view whole, char separator) {
  const size_t first = whole.find(separator);
  if (first == std::string_view::npos) return true;
  if (first == 0 || first > 3 || (whole.size() - first) % 4 != 0) return false;
  for (size_t i = 0; i < whole.size(); ++i) {
    const bool separates = i >= first && (i - first) % 4 == 0;
    if (separates ? whole[i] != separator : !is_digit(whole[i])) return false;
  }
  return true;
}

}  // namespace

std::optional<double> parse_number(std::string_view text, char decimal) {
  if (decimal == 0) return parse_double(text);
  text = trim(text);
  const char separator = decimal == ',' ? '.' : ',';
  const size_t sign = !text.empty() && (text.front() == '-' || text.front() == '+') ? 1 : 0;
  const size_t end = std::min(text.find_first_of(decimal == ',' ? ",eE" : ".eE", sign), text.size());
  if (!grouped_well(text.substr(sign, end - sign), separator)) return std::nullopt;
  if (text.find(separator, end) != std::string_view::npos) return std::nullopt;
  std::array<char, 64> plain;
  size_t size = 0;
  for (const char c : text) {
    if (c == separator) continue;
    if (size == plain.size()) return std::nullopt;
    plain[size++] = c == decimal ? '.' : c;
  }
  return parse_double({plain.data(), size});
}

std::string number_text(double value, char decimal) {
  std::string text = shortest(value);
  if (decimal == ',') std::replace(text.begin(), text.end(), '.', ',');
  return text;
}

}  // namespace l0gm
