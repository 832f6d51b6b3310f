#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>

#include "runtime/table_net.h"

// Which rows of its column's table a cell picks, for the reference and for the kernels.
namespace l0gm {

// The rows of a number. Computed without branches, since known values and others alternate unpredictably from row to row.
struct PickedNumber {
  // The slot whose code is 0 for missing, below least_known for other numbers, and least_known or more for known values: that of
  // the exact field or, without one, of the value field, which has no known values.
  int64_t exact_slot = 0;
  int64_t value_slot = 0;
  int32_t least_known = std::numeric_limits<int32_t>::max();
  int32_t known_shift = 0, direction_shift = 0;  // from a code to its row

  explicit PickedNumber(const NetColumn& column)
      : exact_slot(column.code_slot < 0 ? column.value_slot : column.code_slot),
        value_slot(column.value_slot),
        known_shift(static_cast<int32_t>(column.row_of_known(0))),
        direction_shift(static_cast<int32_t>(column.first_factor_row() - 1)) {
    if (column.code_slot >= 0) least_known = 2;
  }
  // The row that is always picked: of the known value, of the bin, or of missing.
  int64_t first(const int32_t* codes) const {
    const int32_t exact = codes[exact_slot], known = exact + known_shift,
                  other = codes[value_slot];                // row_of_bin is the code itself
    const int32_t not_known = (exact - least_known) >> 31;  // all bits, or none
    return known ^ ((known ^ other) & not_known);
  }
  // The row of the bin's direction, whose factor is the slope; picked by numbers that are neither known nor missing.
  int64_t direction(const int32_t* codes) const { return codes[value_slot] + direction_shift; }
  bool between(const int32_t* codes) const {
    return static_cast<uint32_t>(codes[exact_slot]) - 1 < static_cast<uint32_t>(least_known) - 1;  // 0 < code < least_known
  }
};

// Calls take(row, factor) for sines, then cosines.
template <class Frequency, class Take>
void each_wave(const NetColumn& column, const Frequency* frequencies, double slope, const Take& take) {
  const int64_t half = column.waves / 2, first = column.first_factor_row();
  for (int64_t w = 0; w < half; ++w) {
    const double angle = 2 * std::numbers::pi * static_cast<double>(frequencies[w]) * slope;
    take(first + w, std::sin(angle));
    take(first + half + w, std::cos(angle));
  }
}

// Calls take(row of the column's table, factor) for everything that the column's cell picks.
// frequencies: of the column's waves; nullptr if it has none.
template <class Frequency, class Take>
void each_row(const NetColumn& column, const Frequency* frequencies, const int32_t* codes, const float* slopes,
              const Take& take) {
  switch (column.kind) {
    case NetColumn::Kind::code:
      take(int64_t{codes[column.code_slot]}, 1.0);
      break;
    case NetColumn::Kind::several:
      for (int64_t s = column.code_slot; s < column.code_slot + column.slots; ++s) {
        if (slopes[s] != 0) take(int64_t{codes[s]}, static_cast<double>(slopes[s]));
      }
      break;
    case NetColumn::Kind::number: {
      const PickedNumber rows(column);
      const auto slope = static_cast<double>(slopes[column.value_slot]);
      take(rows.first(codes), 1.0);
      if (!rows.between(codes)) break;
      if (column.waves > 0) {
        each_wave(column, frequencies, slope, take);
      } else {
        take(rows.direction(codes), slope);
      }
    }
  }
}

// The largest number of rows that a cell picks.
inline int64_t most_rows(const NetColumn& column) {
  if (column.kind == NetColumn::Kind::number) return 1 + (column.waves > 0 ? column.waves : 1);
  return column.kind == NetColumn::Kind::several ? column.slots : 1;
}

}  // namespace l0gm
