#pragma once

#include <cstdint>
#include <string_view>

#include "base/text.h"
#include "data/table/encode/schema.h"

// How the text of a cell is read where it is more than one category; fitting and encoding share it.
namespace l0gm {

// 64 bits of a text that are the same on every platform and for ever: the codes of hashed columns in stored runs hang on them.
// FNV-1a, whose low bits alone are too regular for a modulus, with the finishing mix of SplitMix64 behind it.
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

constexpr int64_t most_buckets = int64_t{1} << 28;
inline int32_t bucket_code(std::string_view text, int64_t buckets) {
  return static_cast<int32_t>(1 + text_hash(text) % static_cast<uint64_t>(buckets));
}

constexpr int64_t most_slots = 1024;
// What may stand between the values of a `multi` cell: one ASCII character that a table file does not use itself.
constexpr bool can_separate(char c) { return c > 0 && c < 127 && c != '"' && c != '\n' && c != '\r'; }

// Calls take(value) for each value of a cell that is not missing, trimmed, in order, repeated ones again; stops when it returns false.
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
