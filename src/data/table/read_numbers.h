#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/row_places.h"
#include "data/table/column_request.h"

namespace l0gm {

// A column's training cells that are not missing, trimmed, and the rows they are in.
struct Cells {
  std::vector<std::string_view> texts;
  std::vector<int64_t> rows;
  int64_t missing = 0;
};

// The cells of a column as numbers, written in one way.
struct NumberReading {
  char notation = 0;               // how they are written, as parse_number() takes it
  std::vector<double> sorted;      // NaN left out
  std::vector<size_t> unreadable;  // cells that are no numbers
};

// Whether a column is one of numbers, and how they are written. nullopt: of texts.
//   type numeric  yes; cells that are no numbers count as missing, but more than half of them are a UserError
//   inferred      yes when all cells are numbers, or all but one in twenty (of ten to nineteen cells: all but one)
// Numbers are plain unless the column's or the table's `decimal` says otherwise, or unless all but these few cells are dates, or
// numbers with a decimal comma (1.234,5) or with commas between thousands (1,234.5), and not with both. Warns of a column that
// stays one of texts though most of its cells are numbers. UserError: an infinite number.
std::optional<NumberReading> read_numbers(const std::string& name, const Cells& cells, const ColumnRequest& request,
                                          const TableOptions& options, const RowPlaces& places);

// What the user should know of a column that was read so: cells that count as missing, numbers that are not plain. Else nothing.
void warn_of_reading(const std::string& name, const Cells& cells, const ColumnRequest& request, const NumberReading& reading,
                     const RowPlaces& places);

}  // namespace l0gm
