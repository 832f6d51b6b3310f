#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

// Searches for single bytes, eight at a time: table cells are so short that a memchr call per cell costs more than the scan
// itself.
namespace l0gm::csv_scan {

constexpr uint64_t every_byte = 0x0101010101010101ULL;

// Sets the top bit of every byte of `word` that equals the byte repeated in `pattern`. Exact: no carry between bytes.
constexpr uint64_t equal_bytes(uint64_t word, uint64_t pattern) {
  constexpr uint64_t low_bits = 0x7F * every_byte;
  const uint64_t difference = word ^ pattern;
  return ~(((difference & low_bits) + low_bits) | difference | low_bits);
}

inline uint64_t load_word(const char* bytes, size_t size = 8) {  // size < 8: filled up with zeros
  uint64_t word = 0;
  std::memcpy(&word, bytes, size);
  if constexpr (std::endian::native == std::endian::big) word = __builtin_bswap64(word);  // the first byte is the lowest
  return word;
}

// Calls found(offset) for every byte equal to `first` or `second`, in order. Neither may be NUL.
template <class Found>
void each_of(std::string_view text, char first, char second, Found&& found) {
  const uint64_t pattern = every_byte * static_cast<unsigned char>(first),
                 other = every_byte * static_cast<unsigned char>(second);
  const auto report = [&](size_t at, uint64_t word) {
    for (uint64_t hits = equal_bytes(word, pattern) | equal_bytes(word, other); hits != 0; hits &= hits - 1) {
      found(at + static_cast<size_t>(std::countr_zero(hits)) / 8);
    }
  };
  size_t at = 0;
  for (; at + 8 <= text.size(); at += 8) report(at, load_word(text.data() + at));
  if (at < text.size()) report(at, load_word(text.data() + at, text.size() - at));
}

// How often a byte occurs. Byte-wide sums, added up before they overflow, vectorise well.
inline int64_t count_byte(std::string_view text, char wanted) {
  constexpr size_t lanes = 64, most = 255;
  int64_t count = 0;
  size_t at = 0;
  while (text.size() - at >= lanes) {
    std::array<uint8_t, lanes> sums{};
    for (size_t round = 0; round < most && text.size() - at >= lanes; ++round, at += lanes) {
      const char* bytes = text.data() + at;
      for (size_t i = 0; i < lanes; ++i) sums[i] = static_cast<uint8_t>(sums[i] + (bytes[i] == wanted ? 1 : 0));
    }
    for (const uint8_t sum : sums) count += sum;
  }
  for (; at < text.size(); ++at) count += text[at] == wanted ? 1 : 0;
  return count;
}

inline bool contains(std::string_view text, char byte) {
  return !text.empty() && std::memchr(text.data(), byte, text.size()) != nullptr;
}

}  // namespace l0gm::csv_scan
