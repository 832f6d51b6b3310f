#include "encode/table/text_column.h"

#include <algorithm>
#include <array>

namespace l0gm {
namespace {

// A set of up to most_slots texts that neither allocates nor clears memory for each cell.
class SeenTexts {
 public:
  bool add(std::string_view text) {  // false if it was there already
    for (size_t i = 0; i < count_; ++i) {
      if (std::string_view(parts_[i].data, parts_[i].size) == text) return false;
    }
    if (count_ < parts_.size()) parts_[count_++] = {text.data(), text.size()};
    return true;
  }

 private:
  struct Part {
    const char* data;
    size_t size;
  };
  std::array<Part, static_cast<size_t>(most_slots)> parts_;
  size_t count_ = 0;
};

}  // namespace

void MultiCodeColumn::add(const Field& field, int64_t slot) { parts_.push_back({&field, slot, TextCodes(field.vocabulary)}); }

int32_t MultiCodeColumn::Part::of_text(std::string_view text) const {
  return field->kind == FieldKind::hashed ? bucket_code(text, field->buckets) : texts.code(text);
}

int32_t MultiCodeColumn::code_of(std::string_view text, const MissingMarks& marks) const {
  const Part& first = parts_.front();
  if (first.field->kind != FieldKind::multi) return first.of_text(text);
  std::string_view single;
  bool several = false;
  each_value(text, first.field->separator, marks, [&](std::string_view value) {
    several = !single.empty() && value != single;
    single = value;
    return !several;
  });
  return several ? 1 : single.empty() ? 0 : first.texts.code(single);
}

TextCell MultiCodeColumn::from_number(double number, RowEncoder::Counts* counts) const {
  const Field& first = *parts_.front().field;
  const bool hashed = first.kind == FieldKind::hashed;
  const int32_t code = code_from_number(number, static_cast<double>(first.rows()), hashed, column_, counts);
  if (code == 0) return {.text = {}, .missing = true};
  if (hashed || code == 1) return {.text = {}, .code = code};
  return {.text = first.vocabulary[static_cast<size_t>(code - 2)]};
}

void MultiCodeColumn::encode(const TextCell& cell, const MissingMarks& marks, int32_t* codes, float* slopes,
                             RowEncoder::Counts* counts) const {
  for (const Part& part : parts_) {
    if (part.field->kind == FieldKind::multi) {
      encode_multi(part, cell, marks, codes, slopes, counts);
      continue;
    }
    const bool hashed = part.field->kind == FieldKind::hashed;
    int32_t code = 0;
    if (cell.missing) {
      // code 0
    } else if (cell.code < 0) {
      code = part.of_text(cell.text);
    } else {
      code = &part == &parts_.front() ? cell.code : hashed ? 0 : 1;
    }
    if (code == 1 && !hashed && counts != nullptr) ++counts->unseen[column_];
    codes[part.slot] = code;
    slopes[part.slot] = 0.0F;
  }
}

void MultiCodeColumn::encode_multi(const Part& part, const TextCell& cell, const MissingMarks& marks, int32_t* codes,
                                   float* slopes, RowEncoder::Counts* counts) const {
  const int64_t slots = part.field->slots;
  codes += part.slot;
  slopes += part.slot;
  int64_t used = 0;
  bool unseen = false;
  SeenTexts unknown;  // known texts are distinguished by their codes
  const auto take = [&](std::string_view value) {
    const int32_t code = part.texts.code(value);
    const bool again = code == 1 ? !unknown.add(value) : std::find(codes, codes + used, code) != codes + used;
    if (again) return true;
    const bool fits = used < slots;
    if (fits) codes[used++] = code;
    unseen = unseen || code == 1 || !fits;
    return fits;
  };
  if (cell.code >= 0) {
    codes[used++] = 1;
    unseen = true;
  } else if (!cell.missing) {
    each_value(cell.text, part.field->separator, marks, take);
  }
  if (counts != nullptr) {
    if (used == 0 && !cell.missing) ++counts->missing[column_];
    if (unseen) ++counts->unseen[column_];
  }
  if (used == 0) codes[used++] = 0;
  std::fill_n(slopes, used, 1.0F / static_cast<float>(used));
  std::fill(codes + used, codes + slots, 0);
  std::fill(slopes + used, slopes + slots, 0.0F);
}

}  // namespace l0gm
