#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "encode/table/cell_text.h"
#include "encode/table/schema.h"
#include "encode/table/text_codes.h"

namespace l0gm {

// A code that came as a number: 0 when it is missing (not a number, or 0); what is no code of the field's is unseen (1), or
// missing and counted as unreadable where no code means unseen. Counts all but the unseen.
inline int32_t code_from_number(double number, double codes, bool hashed, size_t column, RowEncoder::Counts* counts) {
  if (number >= 1 && number < codes) [[likely]] {  // what passes converts safely
    const auto code = static_cast<int32_t>(number);
    if (static_cast<double>(code) >= number) [[likely]]
      return code;  // it is not above: they are equal
  }
  const bool missing = !(number < 0 || number > 0);  // 0 or not a number
  if (!missing && !hashed) return 1;
  if (counts != nullptr) ++(missing ? counts->missing : counts->unreadable)[column];
  return 0;
}

// A column that is not numeric and has one field with one code: nearly all of them.
struct CodeColumn {
  size_t column;
  int64_t slot;
  double codes;  // how many the field has
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

// What a cell of any other such column says.
struct TextCell {
  std::string_view text;  // trimmed
  bool missing = false;
  int32_t code = -1;  // not -1: the text is not known, only its code in the column's first field
};

// A column that is not numeric with several fields or several values in a cell. The fields must outlive it.
class SeveralColumn {
 public:
  explicit SeveralColumn(size_t column) : column_(column) {}
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
