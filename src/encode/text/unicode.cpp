#include "encode/text/unicode.h"

#include <algorithm>
#include <set>

#include "encode/text/unicode_data.h"

namespace l0gm {
namespace {

constexpr char32_t hangul_first = 0xAC00, hangul_count = 11172, leading_first = 0x1100, vowel_first = 0x1161,
                   trailing_first = 0x11A7;
constexpr char32_t vowels = 21, trailings = 28, leadings = 19;

bool is_hangul(char32_t code) { return code >= hangul_first && code < hangul_first + hangul_count; }

// Five bits a digit, lowest first; the sixth says that more follow.
class NumberReader {
 public:
  explicit NumberReader(std::string_view data) : data_(data) {}
  bool done() const { return place_ == data_.size(); }
  uint32_t next() {
    uint32_t value = 0;
    for (int shift = 0;; shift += 5) {
      const uint32_t digit = digit_of(data_[place_++]);
      value |= (digit & 31) << shift;
      if (digit < 32) return value;
    }
  }
  int32_t next_signed() {
    const uint32_t value = next();
    return value % 2 == 0 ? static_cast<int32_t>(value / 2) : -static_cast<int32_t>(value / 2) - 1;
  }

 private:
  static uint32_t digit_of(char digit) {
    if (digit >= '0' && digit <= '9') return digit - '0';
    if (digit >= 'A' && digit <= 'Z') return digit - 'A' + 10;
    if (digit >= 'a' && digit <= 'z') return digit - 'a' + 36;
    return digit == '+' ? 62 : 63;
  }
  std::string_view data_;
  size_t place_ = 0;
};

std::u32string hangul_parts(char32_t code) {
  const char32_t index = code - hangul_first, trailing = index % trailings;
  std::u32string parts = {leading_first + index / (vowels * trailings), vowel_first + index / trailings % vowels};
  if (trailing != 0) parts += trailing_first + trailing;
  return parts;
}

char32_t compose_hangul(char32_t first, char32_t second) {
  if (first >= leading_first && first < leading_first + leadings && second >= vowel_first && second < vowel_first + vowels)
    return hangul_first + ((first - leading_first) * vowels + (second - vowel_first)) * trailings;
  if (is_hangul(first) && (first - hangul_first) % trailings == 0 && second > trailing_first &&
      second < trailing_first + trailings)
    return first + (second - trailing_first);
  return 0;
}

uint64_t pair_key(char32_t first, char32_t second) { return uint64_t{first} << 32 | second; }

}  // namespace

Unicode::Blocks Unicode::read_blocks(std::string_view data) {
  std::vector<uint8_t> all;
  all.reserve(codes);
  for (NumberReader reader(data); !reader.done();) {
    const uint32_t length = reader.next();
    all.insert(all.end(), length, static_cast<uint8_t>(reader.next()));
  }
  Blocks blocks;
  std::unordered_map<std::string_view, uint16_t> seen;
  for (size_t i = 0; i < blocks.block.size(); ++i) {
    const std::string_view bytes(reinterpret_cast<const char*>(all.data()) + i * 256, 256);
    const auto [found, is_new] = seen.try_emplace(bytes, static_cast<uint16_t>(seen.size()));
    if (is_new) blocks.bytes.insert(blocks.bytes.end(), bytes.begin(), bytes.end());
    blocks.block[i] = found->second;
  }
  return blocks;
}

Unicode::Mappings Unicode::read_mappings(std::string_view data) {
  Mappings result;
  char32_t code = 0;
  for (NumberReader reader(data); !reader.done();) {
    code += reader.next();
    const uint32_t size_and_mark = reader.next();
    Mapping mapping{{}, size_and_mark % 2 == 1};
    char32_t part = code;
    for (uint32_t i = 0; i < size_and_mark / 2; ++i) mapping.text += part += static_cast<char32_t>(reader.next_signed());
    result.emplace(code, std::move(mapping));
  }
  return result;
}

Unicode::Unicode() {
  for (NumberReader reader(unicode_data::property_kinds); !reader.done();) kinds_.push_back(reader.next());
  property_blocks_ = read_blocks(unicode_data::properties);
  class_blocks_ = read_blocks(unicode_data::combining_classes);
  lower_ = read_mappings(unicode_data::lower_case);
  canonical_ = read_mappings(unicode_data::canonical);
  compatible_ = read_mappings(unicode_data::compatible);
  make_compositions();
}

// A composite's full decomposition ends in the second part of its pair; what stands before composes to the first. Shorter ones
// come first, so that their composites are known when longer ones need them.
void Unicode::make_compositions() {
  std::vector<std::pair<char32_t, const Mapping*>> entries;
  for (const auto& [code, mapping] : canonical_) {
    if (mapping.composes && mapping.text.size() >= 2) entries.emplace_back(code, &mapping);
  }
  std::sort(entries.begin(), entries.end(), [](const auto& a, const auto& b) {
    return std::pair(a.second->text.size(), a.first) < std::pair(b.second->text.size(), b.first);
  });
  for (const auto& [code, mapping] : entries) {
    char32_t first = mapping->text[0];
    for (size_t i = 1; first != 0 && i + 1 < mapping->text.size(); ++i) first = compose(first, mapping->text[i]);
    if (first != 0) compositions_.emplace(pair_key(first, mapping->text.back()), code);
  }
}

std::u32string Unicode::lower(char32_t code) const {
  const auto found = lower_.find(code);
  return found == lower_.end() ? std::u32string() : found->second.text;
}

std::u32string Unicode::canonical(char32_t code) const {
  if (is_hangul(code)) return hangul_parts(code);
  const auto found = canonical_.find(code);
  return found == canonical_.end() ? std::u32string() : found->second.text;
}

std::u32string Unicode::compatible(char32_t code) const {
  const auto found = compatible_.find(code);
  return found == compatible_.end() ? canonical(code) : found->second.text;
}

char32_t Unicode::compose(char32_t first, char32_t second) const {
  if (const char32_t syllable = compose_hangul(first, second); syllable != 0) return syllable;
  const auto found = compositions_.find(pair_key(first, second));
  return found == compositions_.end() ? 0 : found->second;
}

std::vector<char32_t> Unicode::changed() const {
  std::set<char32_t> result;
  for (const Mappings* mappings : {&lower_, &canonical_, &compatible_}) {
    for (const auto& entry : *mappings) result.insert(entry.first);
  }
  return {result.begin(), result.end()};
}

const Unicode& unicode() {
  static const Unicode tables;
  return tables;
}

}  // namespace l0gm
