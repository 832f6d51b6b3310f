#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "encode/table/schema.h"
#include "l0gm/input_counts.h"

namespace l0gm {

// Turns rows into codes. Immutable and safe to share between threads; copies share their tables. Encoding allocates nothing.
class RowEncoder {
 public:
  explicit RowEncoder(Schema schema);
  const Schema& schema() const;
  int64_t fields() const { return static_cast<int64_t>(schema().fields.size()); }

  using Counts = InputCounts;  // summed over rows by the caller
  Counts empty_counts() const;

  // cells[i], or cells[positions[i]], belongs to schema().columns[i]; writes schema().code_slots() codes and
  // schema().slope_slots() slopes. A cell without text (data() == nullptr) is missing, even if no mark says so.
  void encode(const std::string_view* cells, int32_t* codes, float* slopes, Counts* counts = nullptr,
              const int32_t* positions = nullptr) const;
  // The same from numbers: a numeric column's value (NaN: missing), any other column's code as code_of gives it (NaN: missing;
  // not a whole number or outside the field's codes: unseen, for hashed columns: missing, counted as unreadable). `multi`: its
  // single value's code.
  void encode_numbers(const double* numbers, int32_t* codes, float* slopes, Counts* counts = nullptr,
                      const int32_t* positions = nullptr) const;
  // The number in a cell of a numeric column, as encode reads it; NaN: missing.
  double number_of(size_t column, std::string_view cell) const;
  // The code of a text in a column that is not numeric (in its first field): 0 missing, 1 unseen, 2 … by vocabulary; hashed: 1 …
  // by hash. `multi`: of a cell with a single value; several together are unseen.
  int32_t code_of(size_t column, std::string_view text) const;
  int32_t class_of(std::string_view label) const;  // -1 if it is not one of schema().classes

 private:
  struct Tables;
  std::shared_ptr<const Tables> tables_;
};

}  // namespace l0gm
