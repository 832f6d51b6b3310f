#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "encode/table/cell_text.h"
#include "encode/table/row_encoder.h"
#include "encode/table/text_codes.h"

namespace l0gm {

// A code given as a number: 0 if it is missing (NaN or 0). A number that is not a code of the field is unseen (1); hashed fields
// have no code for unseen, so there it is missing and counted as unreadable. Unseen codes are not counted here.
inline int32_t code_from_number(double number, double codes, bool hashed, size_t column, RowEncoder::Counts* counts) {
  if (number >= 1 && number < codes) [[likely]] {  // converts to int32_t safely
    const auto code = static_cast<int32_t>(number);
    if (static_cast<double>(code) >= number) [[likely]]
      return code;  // code <= number, so they are equal
  }
  const bool missing = !(number < 0 || number > 0);  // 0 or NaN
  if (!missing && !hashed) return 1;
  if (counts != nullptr) ++(missing ? counts->missing : counts->unreadable)[column];
  return 0;
}

// A non-numeric column with one field and one code per cell: the usual case.
struct CodeColumn {
  size_t column;
  int64_t slot;
  double codes;  // number of codes of the field
  bool hashed;
  int64_t buckets;
  TextCodes texts;

  CodeColumn(const Field& field, int64_t slot_)
      : column(static_cast<size_t>(field.column)),
        slot(slot_),
        codes(static_cast<double>(field.rows())),
        hashed(field.kind == FieldKind::hashed),
        buckets(field.buckets),
        texts(field.vocabulary) {}
  int32_t of_text(std::string_view text) const { return hashed ? bucket_code(text, buckets) : texts.code(text); }
};

// The content of a cell of a MultiCodeColumn.
struct TextCell {
  std::string_view text;  // trimmed
  bool missing = false;
  int32_t code = -1;  // not -1: only the code in the column's first field is known, not the text
};

// A non-numeric column with several fields, or with several values in a cell. The fields must outlive it.
class MultiCodeColumn {
 public:
  explicit MultiCodeColumn(size_t column) : column_(column) {}
  void add(const Field& field, int64_t slot);

  size_t column() const { return column_; }
  int32_t code_of(std::string_view text,
                  const MissingMarks& marks) const;  // in the first field, of a trimmed cell that is not missing
  TextCell from_number(double number, RowEncoder::Counts* counts) const;
  void encode(const TextCell& cell, const MissingMarks& marks, int32_t* codes, float* slopes, RowEncoder::Counts* counts) const;

 private:
  struct Part {
    const Field* field;
    int64_t slot;
    TextCodes texts;
    int32_t of_text(std::string_view text) const;
  };
  void encode_multi(const Part& part, const TextCell& cell, const MissingMarks& marks, int32_t* codes, float* slopes,
                    RowEncoder::Counts* counts) const;
  size_t column_;
  std::vector<Part> parts_;
};

}  // namespace l0gm
