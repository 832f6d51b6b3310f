#pragma once

#include <cstdint>
#include <vector>

#include "encode/table/schema.h"

namespace l0gm {

// Numbers keys in the order of their first insertion: 0, 1, … Open addressing: most look-ups touch one cache line.
class KeyIndex {
 public:
  explicit KeyIndex(int64_t expected = 0);
  int32_t insert(int64_t key);      // its index; a new key gets the next one
  int32_t find(int64_t key) const;  // -1 if absent
  int32_t size() const { return size_; }

 private:
  struct Slot {
    int64_t key = 0;
    int32_t index = -1;  // -1: the slot is free
  };
  uint64_t slot_of(int64_t key) const;  // the slot of the key, or the free slot for it
  void grow_to(uint64_t slots);
  std::vector<Slot> slots_;  // a power of two, at least half of them free
  int shift_ = 0;
  int32_t size_ = 0;
};

// Reads the key of a statistic out of a row's codes; `slots`: slots_of_fields.
struct StatisticKey {
  int64_t first_slot = 0, second_slot = -1, second_rows = 1;
  StatisticKey(const Schema& schema, const Statistic& statistic, const std::vector<int64_t>& slots);
  int64_t of(const int32_t* codes) const {
    const int64_t key = codes[first_slot];
    return second_slot < 0 ? key : key * second_rows + codes[second_slot];
  }
};

// Rows by key.
struct Groups {
  std::vector<int64_t> keys;   // ascending
  std::vector<size_t> starts;  // the rows of key k: rows[starts[k]] … rows[starts[k + 1] - 1], ascending
  std::vector<size_t> rows;
};
Groups group_rows(const int32_t* codes, int64_t rows, int64_t code_slots, const StatisticKey& key);

// The value of a statistic field, before standardising, for a key that `rows` training rows have, `of_class` of them of the
// field's class: log odds of the smoothed share minus log odds of the prior, or log(1 + rows). Without rows: 0.
class StatisticFormula {
 public:
  StatisticFormula(const Schema& schema, const Field& field);
  double value(int64_t rows, int64_t of_class) const;

 private:
  bool odds_;
  double prior_ = 0.5, smoothing_ = 1;
};

// The share of a class among all training rows.
double prior_of_class(const Schema& schema, int64_t of_class);
// (value - mean) / deviation, clipped to [-4, 4].
float standardised(const Field& field, double value);

// The slopes of all statistic fields of a row, from its codes. A key that training did not have counts as one without rows: the
// prior; but if one of its codes was never in training rows (a missing value, a new category), the field gets its mean, slope 0.
// Keeps no reference to the schema.
class StatisticEncoder {
 public:
  explicit StatisticEncoder(const Schema& schema);
  void encode(const int32_t* codes, float* slopes) const;  // `slopes`: those of the row, from its first slot on

 private:
  struct Table {  // of one statistic
    StatisticKey key;
    KeyIndex key_index;
    std::vector<int64_t> slopes;                // where each field's value goes
    std::vector<float> values;                  // keys x fields, then a row for unseen keys and a row for unseen codes
    std::vector<bool> seen_first, seen_second;  // codes that training rows have; second: empty if there is no second field
    bool unseen_code(const int32_t* codes) const {
      const auto seen = [](const std::vector<bool>& codes_seen, int32_t code) {
        return static_cast<size_t>(code) < codes_seen.size() && codes_seen[static_cast<size_t>(code)];
      };
      return !seen(seen_first, codes[key.first_slot]) || (key.second_slot >= 0 && !seen(seen_second, codes[key.second_slot]));
    }
  };
  std::vector<Table> tables_;
};

}  // namespace l0gm
