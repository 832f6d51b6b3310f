#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

// UTF-8 in and out. decode_code() wants valid text: what comes from outside goes through repair_utf8() first.
namespace l0gm {

struct DecodedCode {
  char32_t code;
  uint32_t size;  // bytes
};

inline DecodedCode decode_code(const char* text) {
  const auto byte = [text](int i) { return static_cast<uint8_t>(text[i]); };
  if (byte(0) < 0x80) return {byte(0), 1};
  if (byte(0) < 0xE0) return {(byte(0) & 0x1Fu) << 6 | (byte(1) & 0x3Fu), 2};
  if (byte(0) < 0xF0) return {(byte(0) & 0x0Fu) << 12 | (byte(1) & 0x3Fu) << 6 | (byte(2) & 0x3Fu), 3};
  return {(byte(0) & 0x07u) << 18 | (byte(1) & 0x3Fu) << 12 | (byte(2) & 0x3Fu) << 6 | (byte(3) & 0x3Fu), 4};
}

inline uint32_t code_size(char first) {
  const auto byte = static_cast<uint8_t>(first);
  return byte < 0x80 ? 1 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
}

// The code point that ends at `end`, looked for from the back.
DecodedCode decode_code_before(const char* begin, const char* end);
void append_code(std::string& text, char32_t code);
size_t count_codes(std::string_view text);

// The text itself if it is valid; otherwise `repaired` with U+FFFD for each longest invalid part. `invalid_bytes` counts what was
// replaced.
std::string_view repair_utf8(std::string_view text, std::string& repaired, int64_t& invalid_bytes);

}  // namespace l0gm
