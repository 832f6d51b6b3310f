#pragma once

#include <bit>
#include <cstdint>
#include <span>
#include <vector>

namespace l0gm {

// The codes of known numbers: 2 for the first, 3 for the next …, 1 for every other number, infinity and NaN included. Of equal
// numbers (0 equals -0) the first counts. Whole numbers close together use a direct table, all others a hash table with open
// addressing.
class NumberCodes {
 public:
  NumberCodes() = default;  // no known number
  explicit NumberCodes(std::span<const double> values);

  int32_t code(double value) const {
    if (direct_.empty()) return slots_.empty() ? 1 : slot_of(value).code;
    if (!(value >= low_ && value <= high_)) [[unlikely]]
      return 1;  // NaN included; all other values convert to int64_t safely
    const auto whole = static_cast<int64_t>(value);
    return static_cast<double>(whole) == value ? direct_[static_cast<size_t>(whole - first_)] : 1;
  }

 private:
  struct Slot {
    double value = 0;
    int32_t code = 1;  // 1: the slot is free
  };
  bool fill_direct(std::span<const double> values);  // false unless all are whole numbers close together
  const Slot& slot_of(double value) const {          // the slot of the value, or the free slot for it
    uint64_t hash = std::bit_cast<uint64_t>(value + 0.0) * 0x9E3779B97F4A7C15;  // + 0.0: -0 becomes 0
    hash = (hash ^ (hash >> 32)) * 0xD6E8FEB86659FD93;  // a second time, since values are often evenly spaced
    uint64_t at = hash >> shift_;
    while (slots_[at].code != 1 && slots_[at].value != value) at = (at + 1) & (slots_.size() - 1);
    return slots_[at];
  }
  std::vector<int32_t> direct_;  // of first_, first_ + 1 …
  double low_ = 0, high_ = 0;    // the range of the table
  int64_t first_ = 0;            // low_
  std::vector<Slot> slots_;      // a power of two, at least half of them free
  int shift_ = 0;
};

}  // namespace l0gm
