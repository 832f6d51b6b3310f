#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

// What a code point is, as the reference's parts see it: they come from different versions of Unicode.
//   if (unicode().has(code, CodeFlag::bert_punctuation)) …
//   std::u32string_view parts = unicode().canonical(0xE9);   // e, U+0301; empty: stays as it is
namespace l0gm {

// In the order of FLAGS in tests/reference/unicode_tables.py.
enum class CodeFlag : uint32_t {
  white_space = 1u << 4,
  bert_dropped = 1u << 5,  // control characters and the like
  bert_space = 1u << 6,
  chinese = 1u << 7,
  bert_mark = 1u << 8,
  bert_punctuation = 1u << 9,
  combining_mark = 1u << 10,
  letter = 1u << 11,
  number = 1u << 12,
  space = 1u << 13,
  word = 1u << 14,
  conjunct_consonant = 1u << 15,
  conjunct_linker = 1u << 16,
  conjunct_extend = 1u << 17,
  picture = 1u << 18,
};

// Place of a character in the rules for grapheme clusters.
enum class ClusterKind : uint8_t {
  other,
  control,
  extend,
  prepend,
  leading,
  vowel,
  trailing,
  leading_vowel,
  leading_vowel_trailing
};

class Unicode {
 public:
  static constexpr char32_t codes = 0x110000;

  Unicode();
  bool has(char32_t code, CodeFlag flag) const { return (properties(code) & static_cast<uint32_t>(flag)) != 0; }
  uint32_t properties(char32_t code) const { return kinds_[property_blocks_.at(code)]; }
  ClusterKind cluster(char32_t code) const { return static_cast<ClusterKind>(properties(code) & 15); }
  // Equal for two blocks of 256 code points that have equal properties and combining classes.
  uint32_t block_kind(char32_t code) const {
    return uint32_t{property_blocks_.block[code >> 8]} << 16 | class_blocks_.block[code >> 8];
  }
  uint8_t combining_class(char32_t code) const { return class_blocks_.at(code); }
  // Empty: the code point itself. Hangul syllables are decomposed as well.
  std::u32string lower(char32_t code) const;
  std::u32string canonical(char32_t code) const;
  std::u32string compatible(char32_t code) const;
  char32_t compose(char32_t first, char32_t second) const;  // 0: the pair stays as it is
  // Code points that lower(), canonical() or compatible() change, Hangul syllables apart.
  std::vector<char32_t> changed() const;

 private:
  // A byte for each code point, in blocks of 256 of which equal ones are kept once.
  struct Blocks {
    std::vector<uint8_t> bytes;
    std::array<uint16_t, codes / 256> block{};
    uint8_t at(char32_t code) const { return bytes[block[code >> 8] * 256u + (code & 255)]; }
  };
  struct Mapping {
    std::u32string text;
    bool composes = false;
  };
  using Mappings = std::unordered_map<char32_t, Mapping>;

  static Blocks read_blocks(std::string_view data);
  static Mappings read_mappings(std::string_view data);
  void make_compositions();

  std::vector<uint32_t> kinds_;
  Blocks property_blocks_, class_blocks_;
  Mappings lower_, canonical_, compatible_;
  std::unordered_map<uint64_t, char32_t> compositions_;
};

// Read once, at the first call.
const Unicode& unicode();

}  // namespace l0gm
