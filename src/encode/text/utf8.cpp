#include "encode/text/utf8.h"

#include <cstring>

namespace l0gm {
namespace {

// Bytes of the valid code point at `text`; 0 and `bad`, the bytes of the longest part that could begin one (at least 1),
// otherwise.
size_t valid_size(const char* text, const char* end, size_t& bad) {
  const auto byte = [text](size_t i) { return static_cast<uint8_t>(text[i]); };
  const uint8_t first = byte(0);
  bad = 1;
  if (first < 0x80) return 1;
  if (first < 0xC2 || first > 0xF4) return 0;
  const size_t size = first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
  // Overlong forms, surrogates and what lies beyond U+10FFFF show in the second byte.
  const uint8_t least = first == 0xE0   ? 0xA0
                        : first == 0xF0 ? 0x90
                                        : 0x80,
                most = first == 0xED   ? 0x9F
                       : first == 0xF4 ? 0x8F
                                       : 0xBF;
  for (; bad < size; ++bad) {
    if (text + bad == end) return 0;
    const uint8_t low = bad == 1 ? least : 0x80, high = bad == 1 ? most : 0xBF;
    if (byte(bad) < low || byte(bad) > high) return 0;
  }
  return size;
}

const char* skip_valid(const char* at, const char* end) {
  size_t bad;
  while (at < end) {
    uint64_t eight;
    if (end - at >= 8 && (std::memcpy(&eight, at, 8), (eight & 0x8080808080808080u) == 0)) {
      at += 8;
      continue;
    }
    const size_t size = valid_size(at, end, bad);
    if (size == 0) return at;
    at += size;
  }
  return end;
}

}  // namespace

DecodedCode decode_code_before(const char* begin, const char* end) {
  const char* at = end - 1;
  while (at > begin && (static_cast<uint8_t>(*at) & 0xC0) == 0x80) --at;
  return decode_code(at);
}

void append_code(std::string& text, char32_t code) {
  const auto put = [&text](char32_t byte) { text.push_back(static_cast<char>(byte)); };
  if (code < 0x80) return put(code);
  if (code < 0x800) {
    put(0xC0 | code >> 6);
  } else if (code < 0x10000) {
    put(0xE0 | code >> 12);
    put(0x80 | (code >> 6 & 0x3F));
  } else {
    put(0xF0 | code >> 18);
    put(0x80 | (code >> 12 & 0x3F));
    put(0x80 | (code >> 6 & 0x3F));
  }
  put(0x80 | (code & 0x3F));
}

size_t count_codes(std::string_view text) {
  size_t count = 0;
  for (const char byte : text) count += (static_cast<uint8_t>(byte) & 0xC0) != 0x80;
  return count;
}

std::string_view repair_utf8(std::string_view text, std::string& repaired, int64_t& invalid_bytes) {
  const char *at = text.data(), *const end = at + text.size();
  const char* valid_end = skip_valid(at, end);
  if (valid_end == end) return text;
  repaired.clear();
  while (true) {
    repaired.append(at, valid_end);
    if (valid_end == end) return repaired;
    size_t bad;
    valid_size(valid_end, end, bad);
    invalid_bytes += static_cast<int64_t>(bad);
    repaired += "\xEF\xBF\xBD";
    at = valid_end + bad;
    valid_end = skip_valid(at, end);
  }
}

}  // namespace l0gm
