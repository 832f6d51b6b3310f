#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "base/text.h"
#include "encode/table/missing_marks.h"

// How the text of a cell is read; shared by fitting and encoding.
namespace l0gm {

// A 64-bit hash that is the same on every platform and must never change: codes of hashed columns in stored runs depend on it.
// FNV-1a, whose low bits alone are too regular for a modulus, followed by the final mix of SplitMix64.
constexpr uint64_t text_hash(std::string_view text) {
  uint64_t hash = 0xcbf29ce484222325ULL;
  for (const char c : text) {
    hash ^= static_cast<unsigned char>(c);
    hash *= 0x100000001b3ULL;
  }
  hash = (hash ^ (hash >> 30)) * 0xbf58476d1ce4e5b9ULL;
  hash = (hash ^ (hash >> 27)) * 0x94d049bb133111ebULL;
  return hash ^ (hash >> 31);
}

// trim(), fast for the common cells: nothing to trim, or only blanks in front.
inline std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  const auto is_visible = [](char c) { return static_cast<unsigned char>(c) > ' '; };  // all blanks are ' ' or below
  return !text.empty() && is_visible(text.front()) && is_visible(text.back()) ? text : trim(text);
}

// Fast path of parse_double for the usual form: up to 15 digits, an optional minus and an optional point. The digits and the
// power of ten are exact, so their quotient is the nearest double. False for all other texts, whether numbers or not.
inline bool read_plain_number(std::string_view text, double& value) {
  constexpr size_t most_digits = 15;
  static constexpr std::array<double, most_digits + 1> powers = {1e0, 1e1, 1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                                                 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};
  const bool negative = !text.empty() && text.front() == '-';
  const size_t begin = negative ? 1 : 0, most = begin + most_digits + 1;
  if (text.size() <= begin || text.size() > most) return false;
  int64_t digits = 0;
  size_t point = text.size();
  for (size_t i = begin; i < text.size(); ++i) {
    const auto digit = static_cast<unsigned>(static_cast<unsigned char>(text[i])) - '0';
    if (digit <= 9) {
      digits = digits * 10 + digit;
    } else if (text[i] == '.' && point == text.size()) {
      point = i;
    } else {
      return false;
    }
  }
  const bool has_point = point < text.size();
  const size_t count = text.size() - begin - (has_point ? 1 : 0);
  if (count == 0 || count > most_digits) return false;
  const auto whole = static_cast<double>(digits);
  value = has_point ? whole / powers[text.size() - point - 1] : whole;
  if (negative) value = -value;
  return true;
}

constexpr int64_t most_buckets = int64_t{1} << 28;
inline int32_t bucket_code(std::string_view text, int64_t buckets) {
  return static_cast<int32_t>(1 + text_hash(text) % static_cast<uint64_t>(buckets));
}

constexpr int64_t most_slots = 1024;
// Whether `c` can separate the values of a `multi` cell: an ASCII character without a meaning of its own in a table file.
constexpr bool can_separate(char c) { return c > 0 && c < 127 && c != '"' && c != '\n' && c != '\r'; }

// Calls take(value) for each value of a cell that is not missing: trimmed, in order, including repeated ones. Stops when take
// returns false.
template <class Take>
void each_value(std::string_view cell, char separator, const MissingMarks& marks, const Take& take) {
  while (true) {
    const size_t end = cell.find(separator);
    const std::string_view value = trim(cell.substr(0, end));
    if (!value.empty() && !marks.contains(value) && !take(value)) return;
    if (end == std::string_view::npos) return;
    cell.remove_prefix(end + 1);
  }
}

}  // namespace l0gm
