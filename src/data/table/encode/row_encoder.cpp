#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "data/table/encode/cell_text.h"
#include "data/table/encode/schema.h"
#include "data/table/encode/statistics.h"

namespace l0gm {
namespace {

struct Code {
  int32_t code;
  float slope;
};

// Halves keep the difference of two huge numbers finite.
double position(double value, double low, double high) {
  const double width = high * 0.5 - low * 0.5;
  return width > 0 ? (value * 0.5 - low * 0.5) / width : 0.0;
}

Code piecewise(const std::vector<double>& edges, double value) {
  const auto above = std::upper_bound(edges.begin() + 1, edges.end() - 1, value);  // inner edges: the outer bins take the rest
  const auto bin = above - edges.begin() - 1;
  return {static_cast<int32_t>(1 + bin), static_cast<float>(std::clamp(position(value, *(above - 1), *above), -2.0, 3.0))};
}

Code plain(const Field& field, double value) {
  return {1, static_cast<float>(std::clamp((value - field.mean) / field.deviation, -8.0, 8.0))};
}

// Vocabularies begin at 2; 1 stands for what they do not have.
template <class Lookup, class Key>
int32_t code_in(const Lookup& lookup, const Key& key) {
  const auto found = lookup.find(key);
  return found == lookup.end() ? 1 : found->second;
}

// Texts seen so far, of any number up to most_slots, without allocating or clearing memory for each cell.
class SeenTexts {
 public:
  bool add(std::string_view text) {  // false when it was there
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

MissingMarks::MissingMarks(std::span<const std::string> marks, std::span<const std::string> further) {
  for (const auto& part : {marks, further}) {
    for (const std::string& mark : part) {
      const std::string_view text = trim(mark);
      if (text.empty()) {
        empty_ = true;
      } else {
        first_[static_cast<unsigned char>(text.front())] = true;
        marks_.emplace_back(text);
      }
    }
  }
}

bool MissingMarks::among_marks(std::string_view cell) const {
  return std::find(marks_.begin(), marks_.end(), cell) != marks_.end();
}

RowEncoder::RowEncoder(Schema schema) : schema_(std::move(schema)) {
  column_fields_.resize(schema_.columns.size());
  const std::vector<int64_t> slots = slots_of_fields(schema_);
  for (const Field& field : schema_.fields) {
    if (field.kind == FieldKind::statistic) break;  // these are behind all others
    column_fields_[static_cast<size_t>(field.column)].push_back(tables_.size());
    FieldTable& table = tables_.emplace_back();
    table.slot = slots[tables_.size() - 1];
    table.texts.reserve(field.vocabulary.size());
    for (size_t i = 0; i < field.vocabulary.size(); ++i) table.texts.emplace(field.vocabulary[i], static_cast<int32_t>(i + 2));
    table.numbers.reserve(field.values.size());
    for (size_t i = 0; i < field.values.size(); ++i) table.numbers.emplace(field.values[i], static_cast<int32_t>(i + 2));
  }
  for (const Column& column : schema_.columns) missing_marks_.emplace_back(schema_.missing_marks, column.missing_marks);
  for (size_t i = 0; i < schema_.classes.size(); ++i) classes_.emplace(schema_.classes[i], static_cast<int32_t>(i));
  if (!schema_.statistics.empty()) statistics_ = std::make_shared<const StatisticEncoder>(schema_);
}

RowEncoder::Counts RowEncoder::empty_counts() const {
  const std::vector<int64_t> zeros(schema_.columns.size(), 0);
  return {zeros, zeros, zeros};
}

RowEncoder::Cell RowEncoder::read(size_t column, std::string_view text, Counts* counts) const {
  Cell cell{trim(text), 0, false};
  cell.missing = missing_marks_[column].contains(cell.text);
  if (cell.missing) {
    if (counts != nullptr) ++counts->missing[column];
  } else if (schema_.columns[column].type == ColumnType::numeric) {
    const auto number = parse_double(cell.text);
    cell.missing = !number || std::isnan(*number);
    if (number) cell.number = *number;
    if (cell.missing && counts != nullptr) ++(number ? counts->missing : counts->unreadable)[column];
  }
  return cell;
}

void RowEncoder::encode_multi(size_t f, const Cell& cell, int32_t* codes, float* slopes, Counts* counts) const {
  const Field& field = schema_.fields[f];
  const auto column = static_cast<size_t>(field.column);
  const Lookup& lookup = tables_[f].texts;
  codes += tables_[f].slot;
  slopes += tables_[f].slot;
  int64_t used = 0;
  bool unseen = false;
  SeenTexts strangers;  // those of the vocabulary are told apart by their codes
  const auto take = [&](std::string_view value) {
    const int32_t code = code_in(lookup, value);
    const bool again = code == 1 ? !strangers.add(value) : std::find(codes, codes + used, code) != codes + used;
    if (again) return true;
    const bool fits = used < field.slots;
    if (fits) codes[used++] = code;
    unseen = unseen || code == 1 || !fits;
    return fits;
  };
  if (!cell.missing) each_value(cell.text, field.separator, missing_marks_[column], take);
  if (counts != nullptr) {
    if (used == 0 && !cell.missing) ++counts->missing[column];
    if (unseen) ++counts->unseen[column];
  }
  if (used == 0) codes[used++] = 0;
  std::fill_n(slopes, used, 1.0F / static_cast<float>(used));
  std::fill(codes + used, codes + field.slots, 0);
  std::fill(slopes + used, slopes + field.slots, 0.0F);
}

void RowEncoder::encode(const std::string_view* cells, int32_t* codes, float* slopes, Counts* counts) const {
  for (size_t c = 0; c < schema_.columns.size(); ++c) {
    const Cell cell = read(c, cells[c], counts);
    for (const size_t f : column_fields_[c]) {
      const Field& field = schema_.fields[f];
      const FieldTable& table = tables_[f];
      if (field.kind == FieldKind::multi) {
        encode_multi(f, cell, codes, slopes, counts);
        continue;
      }
      Code result{0, 0.0F};
      if (cell.missing) {
        // code 0
      } else if (field.kind == FieldKind::piecewise) {
        result = piecewise(field.edges, cell.number);
      } else if (field.kind == FieldKind::plain || field.kind == FieldKind::periodic) {
        result = plain(field, cell.number);
      } else if (field.kind == FieldKind::exact) {
        result.code = code_in(table.numbers, cell.number);
      } else if (field.kind == FieldKind::hashed) {
        result.code = bucket_code(cell.text, field.buckets);
      } else {
        result.code = code_in(table.texts, cell.text);
        if (result.code == 1 && counts != nullptr) ++counts->unseen[c];
      }
      codes[table.slot] = result.code;
      slopes[table.slot] = result.slope;
    }
  }
  if (statistics_) statistics_->encode(codes, slopes);
}

int32_t RowEncoder::class_of(std::string_view label) const {
  const auto found = classes_.find(trim(label));
  return found == classes_.end() ? -1 : found->second;
}

}  // namespace l0gm
