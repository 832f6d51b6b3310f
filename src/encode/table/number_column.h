#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "encode/table/bins.h"
#include "encode/table/number_codes.h"

namespace l0gm {

struct Field;

// A numeric column with all its fields. The encoding of each known value (a value of the column's first exact field) is computed
// once: a known value costs one look-up and a copy. The fields must outlive the column.
class NumberColumn {
 public:
  explicit NumberColumn(size_t column, char notation = 0) : column_(column), notation_(notation) {}
  void add(const Field& field, int64_t slot);  // the field's code and slope go to `slot`
  void compute_known();                        // call once, after all fields were added

  size_t column() const { return column_; }
  char notation() const { return notation_; }                       // Column::notation
  void encode(double value, int32_t* codes, float* slopes) const {  // NaN: missing
    const int32_t known = known_.code(value);
    const bool negative_zero =
        std::bit_cast<uint64_t>(value) == uint64_t{1} << 63;  // has the code of 0, but its slope may differ in sign
    if (known == 1 || negative_zero) [[unlikely]]
      return encode_other(value, codes, slopes);
    const CodeAndSlope* const row = rows_.data() + static_cast<size_t>(known) * width_;
    const int64_t* const slots = slots_.data();
    for (size_t i = 0; i < width_; ++i) {
      codes[slots[i]] = row[i].code;
      slopes[slots[i]] = row[i].slope;
    }
  }

 private:
  void encode_other(double value, int32_t* codes, float* slopes) const;
  CodeAndSlope field_at(size_t i, double value) const;

  size_t column_, width_ = 0;  // width: number of fields
  char notation_;
  NumberCodes known_;               // of its first exact field
  std::vector<int64_t> slots_;      // per field
  std::vector<CodeAndSlope> rows_;  // code of that field x fields; rows 0 and 1 are unused
  std::vector<const Field*> fields_;
  std::vector<NumberCodes> exact_;  // per field; empty unless the field is exact
};

}  // namespace l0gm
