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
  int64_t first = 0, second = 0;  // the slot of a field; a cut: -1 - its index
  int64_t second_rows = 1;
  bool pair = false;
  StatisticKey(const Schema& schema, const Statistic& statistic, const std::vector<int64_t>& slots);
  bool has_cuts() const { return first < 0 || second < 0; }
  static int32_t code(int64_t place, const int32_t* codes, const int32_t* cut_codes) {
    return place >= 0 ? codes[place] : cut_codes[-1 - place];
  }
  int64_t of(const int32_t* codes, const int32_t* cut_codes) const {
    const int64_t key = code(first, codes, cut_codes);
    return pair ? key * second_rows + code(second, codes, cut_codes) : key;
  }
};

// How many training rows there are, and of each class: all of them, or those outside a fold.
struct ClassRows {
  double all = 0;
  std::vector<double> of_class;
  explicit ClassRows(const std::vector<int64_t>& rows_of_classes);
  double prior(size_t of_class_index) const { return of_class[of_class_index] / all; }
};

// The value of a statistic field, before standardising, for a key that `rows` training rows have, `of_class` of them of the
// field's class: log odds of the smoothed share minus log odds of the prior, or log(1 + rows). Without rows: 0. The prior is the
// class's share of `counted`, the rows that the counts are of; it may be 0 or 1 where a fold has all rows of a class.
class StatisticFormula {
 public:
  StatisticFormula(const Schema& schema, const Field& field, const ClassRows& counted);
  double value(int64_t rows, int64_t of_class) const;

 private:
  bool odds_;
  double prior_ = 0.5, smoothing_ = 1;
};

// (value - mean) / deviation, clipped to [-4, 4].
float standardised(const Field& field, double value);

// The slopes of all statistic fields of a row, from its codes. A key that training did not have counts as one without rows: the
// prior; but if one of its codes was never in training rows (a missing value, a new category), the field gets its mean, slope 0.
// Keeps no reference to the schema.
class StatisticEncoder {
 public:
  explicit StatisticEncoder(const Schema& schema);
  // `slopes`: those of the row, from its first slot on. `cut_codes`: by cut; without them statistics with a cut are left as they
  // are.
  void encode(const int32_t* codes, float* slopes, const int32_t* cut_codes = nullptr) const;

 private:
  struct Table {  // of one statistic
    StatisticKey key;
    KeyIndex key_index;
    std::vector<int64_t> slopes;                // where each field's value goes
    std::vector<float> values;                  // keys x fields, then a row for unseen keys and a row for unseen codes
    std::vector<bool> seen_first, seen_second;  // codes that training rows have; second: empty if there is no second field
    std::vector<float> by_key;                  // few possible keys: the values of each, without a search; else empty
    size_t row_of(int64_t key) const;           // of `values`
    void fill_by_key();
  };
  std::vector<Table> tables_;
};

}  // namespace l0gm
