#include "encode/text/utf8.h"

#include <gtest/gtest.h>

namespace l0gm {
namespace {

struct Repaired {
  std::string text;
  int64_t invalid = 0;
};

Repaired repaired(std::string_view text) {
  std::string memory;
  Repaired result;
  result.text = repair_utf8(text, memory, result.invalid);
  return result;
}

TEST(Utf8, EachCodePointThereAndBack) {
  for (const char32_t code : {U'\0', U'a', U'\x7F', U'\x80', U'\x7FF', U'\x800', U'\xFFFF', U'\x10000', U'\x10FFFF'}) {
    std::string text = "x";
    append_code(text, code);
    const auto [decoded, size] = decode_code(text.data() + 1);
    EXPECT_EQ(decoded, code);
    EXPECT_EQ(size, text.size() - 1);
    EXPECT_EQ(code_size(text[1]), size);
    EXPECT_EQ(decode_code_before(text.data(), text.data() + text.size()).code, code);
    EXPECT_EQ(count_codes(text), 2u);
    EXPECT_EQ(repaired(text).text, text);
    EXPECT_EQ(repaired(text).invalid, 0);
  }
}

// Each longest part that could begin a character becomes one U+FFFD (Unicode, 3.9): what Python's errors="replace" does.
TEST(Utf8, InvalidPartsAreReplaced) {
  const std::string mark = "\xEF\xBF\xBD";
  const std::vector<std::tuple<std::string, std::string, int64_t>> cases = {
      {"a\x80z", "a" + mark + "z", 1},
      {"\xC0\xAF", mark + mark, 2},                        // overlong
      {"\xE0\x80\xAF", mark + mark + mark, 3},             // overlong
      {"\xED\xA0\x80", mark + mark + mark, 3},             // surrogate
      {"\xF4\x90\x80\x80", mark + mark + mark + mark, 4},  // beyond U+10FFFF
      {"\xF0\x9F\x98", mark, 3},                           // cut off
      {"\xF0\x9F\x98"
       "A",
       mark + "A", 3},
      {"\xE2\x82\xE2\x82\xAC", mark + "\xE2\x82\xAC", 2},
      {"\xFF\xFE", mark + mark, 2},
      {"12345678\xC3", "12345678" + mark, 1},
      {"\xC3\xA9\xC3", "\xC3\xA9" + mark, 1},
  };
  for (const auto& [text, wanted, invalid] : cases) {
    EXPECT_EQ(repaired(text).text, wanted);
    EXPECT_EQ(repaired(text).invalid, invalid);
  }
}

}  // namespace
}  // namespace l0gm
