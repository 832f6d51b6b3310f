#include "encode/text/precompiled.h"

#include <fmt/format.h>

#include <cstdint>
#include <cstring>
#include <vector>

#include "encode/text/clusters.h"
#include "encode/text/tokenizer_json.h"
#include "encode/text/utf8.h"

namespace l0gm {
namespace {

constexpr size_t longest_replacement = 255;

// A double array: a unit has a label, the distance to its children and whether a word ends there.
class CharsMap {
 public:
  CharsMap(std::string_view map, const std::string& where) {
    uint32_t trie_bytes = 0;
    if (map.size() >= 4) std::memcpy(&trie_bytes, map.data(), 4);
    if (map.size() < 8 || trie_bytes % 4 != 0 || trie_bytes == 0 || trie_bytes > map.size() - 4)
      tokenizer_json::refuse(where, fmt::format("the precompiled map has {} bytes and says that its trie has {}", map.size(),
                                                trie_bytes));
    units_.resize(trie_bytes / 4);
    std::memcpy(units_.data(), map.data() + 4, trie_bytes);
    replacements_ = map.substr(4 + trie_bytes);
    if (repair_check(replacements_)) tokenizer_json::refuse(where, "the precompiled map's replacements are no UTF-8");
    for (size_t begin = 0; begin < replacements_.size();) {
      const size_t end = std::min(replacements_.find('\0', begin), replacements_.size());
      if (end - begin > longest_replacement) tokenizer_json::refuse(where, "a replacement in the precompiled map is too long");
      begin = end + 1;
    }
  }

  // The replacement of the shortest entry that the text begins with. False: there is none.
  bool find(std::string_view text, std::string_view& replacement) const {
    size_t place = offset(units_[0]);
    for (const char letter : text) {
      const auto byte = static_cast<uint8_t>(letter);
      place ^= byte;
      if (byte == 0 || place >= units_.size()) return false;
      const uint32_t unit = units_[place];
      if ((unit & (0x80000000u | 0xFF)) != byte) return false;
      place ^= offset(unit);
      if ((unit >> 8 & 1) == 0) continue;
      if (place >= units_.size()) return false;
      const size_t begin = units_[place] & 0x7FFFFFFFu;
      if (begin > replacements_.size() || is_inside_character(begin)) return false;
      const size_t end = std::min(replacements_.find('\0', begin), replacements_.size());
      replacement = std::string_view(replacements_).substr(begin, end - begin);
      return true;
    }
    return false;
  }

 private:
  static size_t offset(uint32_t unit) { return size_t{unit >> 10} << ((unit & (1u << 9)) >> 6); }
  static bool repair_check(std::string_view text) {
    std::string repaired;
    int64_t invalid = 0;
    repair_utf8(text, repaired, invalid);
    return invalid != 0;
  }
  bool is_inside_character(size_t place) const {
    return place < replacements_.size() && (static_cast<uint8_t>(replacements_[place]) & 0xC0) == 0x80;
  }

  std::vector<uint32_t> units_;
  std::string replacements_;
};

class PrecompiledNormalizer : public Normalizer {
 public:
  PrecompiledNormalizer(std::string_view map, const std::string& where) : map_(map, where) {
    for (size_t byte = 0; byte < 128; ++byte) {
      std::string_view replacement;
      const char letter = static_cast<char>(byte);
      ascii_stays_[byte] = !map_.find({&letter, 1}, replacement) && byte != '\r';
    }
  }

  void apply(NormalText& text) const override {
    text.scratch.clear();
    const std::string_view from = text.text;
    for (size_t i = 0; i < from.size();) {
      // An ASCII character before another one is a cluster by itself.
      size_t run = i;
      while (run < from.size() && stays(from[run])) ++run;
      if (run < from.size() && run > i && static_cast<uint8_t>(from[run]) >= 128) --run;
      text.scratch.append(from, i, run - i);
      if ((i = run) == from.size()) break;
      const size_t end = cluster_end(from, i);
      add_cluster(from.substr(i, end - i), text.scratch);
      i = end;
    }
    std::swap(text.text, text.scratch);
  }

 private:
  bool stays(char letter) const { return static_cast<uint8_t>(letter) < 128 && ascii_stays_[static_cast<uint8_t>(letter)]; }
  void add_cluster(std::string_view cluster, std::string& out) const {
    std::string_view replacement;
    if (cluster.size() < 6 && map_.find(cluster, replacement)) {
      out += replacement;
      return;
    }
    for (size_t i = 0; i < cluster.size();) {
      const std::string_view one = cluster.substr(i, code_size(cluster[i]));
      out += map_.find(one, replacement) ? replacement : one;
      i += one.size();
    }
  }

  CharsMap map_;
  std::array<bool, 128> ascii_stays_{};
};

constexpr std::string_view base64_digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

}  // namespace

std::unique_ptr<Normalizer> make_precompiled(std::string map, const std::string& where) {
  return std::make_unique<PrecompiledNormalizer>(map, where);
}

std::string from_base64(std::string_view text, const std::string& where) {
  std::array<int8_t, 256> values;
  values.fill(-1);
  for (size_t i = 0; i < base64_digits.size(); ++i) values[static_cast<uint8_t>(base64_digits[i])] = static_cast<int8_t>(i);
  while (text.ends_with('=')) text.remove_suffix(1);
  std::string bytes;
  uint32_t bits = 0;
  int count = 0;
  for (const char digit : text) {
    const int8_t value = values[static_cast<uint8_t>(digit)];
    if (value < 0) tokenizer_json::refuse(where, "the precompiled map is no base64");
    bits = bits << 6 | static_cast<uint32_t>(value);
    count += 6;
    if (count < 8) continue;
    count -= 8;
    bytes.push_back(static_cast<char>(bits >> count));
  }
  return bytes;
}

std::string to_base64(std::string_view bytes) {
  std::string text;
  for (size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t bits = 0;
    for (size_t j = i; j < i + 3; ++j) bits = bits << 8 | (j < bytes.size() ? static_cast<uint8_t>(bytes[j]) : 0u);
    for (size_t j = 0; j < 4; ++j) text.push_back(i + j <= bytes.size() ? base64_digits[bits >> (18 - 6 * j) & 63] : '=');
  }
  return text;
}

}  // namespace l0gm
