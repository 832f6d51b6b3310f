#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace l0gm {

// The codes of a vocabulary: 2 for its first text, 3 for the next …, 1 for any other text. Of equal texts the first counts.
// Open addressing: a look-up allocates nothing and mostly touches one slot and one text.
class TextCodes {
 public:
  TextCodes() = default;  // an empty vocabulary
  explicit TextCodes(std::span<const std::string> vocabulary);
  int32_t code(std::string_view text) const;

 private:
  struct Slot {
    size_t begin = 0, size = 0;  // its text in the arena
    uint32_t tag = 0;            // bits of the hash that did not choose the slot
    int32_t code = 0;            // 0: the slot is free
  };
  const Slot& slot_of(std::string_view text,
                      uint64_t hash) const;  // the slot of the text, or the free slot for it
  std::vector<Slot> slots_;                  // a power of two, at least half of them free; none for an empty vocabulary
  std::string arena_;                        // all texts, one after the other
  int shift_ = 0;
};

}  // namespace l0gm
