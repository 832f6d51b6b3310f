#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

// Words that were seen lately and their ids, in a table of fixed size: a word has one place and pushes out who was there before.
//   const uint64_t hash = hash_bytes(word);
//   if (const WordCache::Slot* slot = cache.find(word, hash)) … slot->ids, slot->count
namespace l0gm {

// Fast and the same on every machine of one byte order; for tables in memory only.
inline uint64_t hash_bytes(std::string_view bytes) {
  constexpr uint64_t mix = 0x9E3779B97F4A7C15u;
  const auto fold = [](uint64_t a, uint64_t b) {
    const auto product = static_cast<unsigned __int128>(a) * b;
    return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
  };
  const auto eight = [](const char* at) {
    uint64_t value;
    std::memcpy(&value, at, 8);
    return value;
  };
  const auto four = [](const char* at) {
    uint32_t value;
    std::memcpy(&value, at, 4);
    return uint64_t{value};
  };
  const char* at = bytes.data();
  const size_t size = bytes.size();
  uint64_t hash = size * mix ^ 0xD6E8FEB86659FD93u, last = 0;
  if (size >= 8) {
    for (const char* const stop = at + size - 8; at < stop; at += 8) hash = fold(hash ^ eight(at), mix);
    last = eight(bytes.data() + size - 8);
  } else if (size >= 4) {
    last = four(at) << 32 | four(at + size - 4);
  } else if (size > 0) {
    last = uint64_t{static_cast<uint8_t>(at[0])} << 16 | uint64_t{static_cast<uint8_t>(at[size / 2])} << 8 |
           static_cast<uint8_t>(at[size - 1]);
  }
  return fold(hash ^ last, 0xA24BAED4963EE407u);
}

class WordCache {
 public:
  static constexpr size_t slots = 1 << 14, longest_word = 26, most_ids = 7;
  struct Slot {
    uint64_t hash = 0;
    uint8_t size = 0, count = 0;
    char word[longest_word];
    int32_t ids[most_ids];
  };
  static_assert(sizeof(Slot) == 64);  // one line of the processor's cache

  WordCache() : table_(slots) {}

  const Slot* find(std::string_view word, uint64_t hash) const {
    const Slot& slot = table_[hash % slots];
    const bool same = slot.hash == hash && slot.size == word.size() && std::memcmp(slot.word, word.data(), word.size()) == 0;
    return same && slot.count > 0 ? &slot : nullptr;
  }
  // Long words and words of many tokens are rare and not kept.
  void keep(std::string_view word, uint64_t hash, std::span<const int32_t> ids) {
    if (word.empty() || word.size() > longest_word || ids.empty() || ids.size() > most_ids) return;
    Slot& slot = table_[hash % slots];
    slot.hash = hash;
    slot.size = static_cast<uint8_t>(word.size());
    slot.count = static_cast<uint8_t>(ids.size());
    std::memcpy(slot.word, word.data(), word.size());
    std::memcpy(slot.ids, ids.data(), ids.size_bytes());
  }

 private:
  std::vector<Slot> table_;
};

}  // namespace l0gm
