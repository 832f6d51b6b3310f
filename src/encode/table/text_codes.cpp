#include "encode/table/text_codes.h"

#include <bit>
#include <cstring>

namespace l0gm {
namespace {

template <class Word>
uint64_t load(const char* from) {
  Word word = 0;
  std::memcpy(&word, from, sizeof word);
  return word;
}

// Up to 7 bytes as one number, different for different texts of the same size; the parts overlap so that nothing beyond the text
// is read.
uint64_t short_word(const char* text, size_t size) {
  if (size >= 4) return load<uint32_t>(text) | load<uint32_t>(text + size - 4) << 32;
  if (size >= 2) return load<uint16_t>(text) | load<uint16_t>(text + size - 2) << 16;
  return size == 1 ? load<uint8_t>(text) : 0;
}

uint64_t mixed(uint64_t hash, uint64_t word) {
  hash = (hash ^ word) * 0x9E3779B97F4A7C15;
  return hash ^ (hash >> 32);
}

// Eight bytes at a time. Differs between processors (byte order), so it must not be stored: text_hash is for that.
uint64_t quick_hash(std::string_view text) {
  const char* const data = text.data();
  const size_t size = text.size();
  uint64_t hash = size * 0xD6E8FEB86659FD93;
  if (size < 8) return mixed(hash, short_word(data, size));
  for (size_t at = 0; at + 8 < size; at += 8) hash = mixed(hash, load<uint64_t>(data + at));
  return mixed(hash, load<uint64_t>(data + size - 8));
}

bool same_bytes(const char* a, const char* b, size_t size) {
  if (size < 8) return short_word(a, size) == short_word(b, size);
  for (size_t at = 0; at + 8 < size; at += 8) {
    if (load<uint64_t>(a + at) != load<uint64_t>(b + at)) return false;
  }
  return load<uint64_t>(a + size - 8) == load<uint64_t>(b + size - 8);
}

}  // namespace

TextCodes::TextCodes(std::span<const std::string> vocabulary) {
  if (vocabulary.empty()) return;
  const uint64_t slots = std::bit_ceil(vocabulary.size() * 2);
  slots_.resize(slots);
  shift_ = 64 - std::countr_zero(slots);
  size_t bytes = 0;
  for (const std::string& text : vocabulary) bytes += text.size();
  arena_.reserve(bytes);
  for (size_t i = 0; i < vocabulary.size(); ++i) {
    const uint64_t hash = quick_hash(vocabulary[i]);
    Slot& slot = slots_[static_cast<size_t>(&slot_of(vocabulary[i], hash) - slots_.data())];
    if (slot.code != 0) continue;
    slot = {arena_.size(), vocabulary[i].size(), static_cast<uint32_t>(hash), static_cast<int32_t>(i + 2)};
    arena_ += vocabulary[i];
  }
}

const TextCodes::Slot& TextCodes::slot_of(std::string_view text, uint64_t hash) const {
  const auto tag = static_cast<uint32_t>(hash);
  for (uint64_t at = hash >> shift_;; at = (at + 1) & (slots_.size() - 1)) {
    const Slot& slot = slots_[at];
    if (slot.code == 0) return slot;
    if (slot.tag == tag && slot.size == text.size() && same_bytes(arena_.data() + slot.begin, text.data(), slot.size))
      return slot;
  }
}

int32_t TextCodes::code(std::string_view text) const {
  if (slots_.empty()) return 1;
  const int32_t code = slot_of(text, quick_hash(text)).code;
  return code == 0 ? 1 : code;
}

}  // namespace l0gm
