#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "data/table/encode/schema.h"

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
  lookups_.resize(schema_.fields.size());
  for (size_t f = 0; f < schema_.fields.size(); ++f) {
    const Field& field = schema_.fields[f];
    column_fields_[static_cast<size_t>(field.column)].push_back(static_cast<int32_t>(f));
    lookups_[f].reserve(field.vocabulary.size());
    for (size_t i = 0; i < field.vocabulary.size(); ++i) lookups_[f].emplace(field.vocabulary[i], static_cast<int32_t>(i + 2));
  }
  for (const Column& column : schema_.columns) missing_marks_.emplace_back(schema_.missing_marks, column.missing_marks);
  for (size_t i = 0; i < schema_.classes.size(); ++i) classes_.emplace(schema_.classes[i], static_cast<int32_t>(i));
}

RowEncoder::Counts RowEncoder::empty_counts() const {
  const std::vector<int64_t> zeros(schema_.columns.size(), 0);
  return {zeros, zeros, zeros};
}

void RowEncoder::encode(const std::string_view* cells, int32_t* codes, float* slopes, Counts* counts) const {
  for (size_t c = 0; c < schema_.columns.size(); ++c) {
    const std::string_view cell = trim(cells[c]);
    bool missing = missing_marks_[c].contains(cell);
    double value = 0;
    if (missing) {
      if (counts != nullptr) ++counts->missing[c];
    } else if (schema_.columns[c].type == ColumnType::numeric) {
      const auto number = parse_double(cell);
      missing = !number || std::isnan(*number);
      if (number) value = *number;
      if (missing && counts != nullptr) ++(number ? counts->missing : counts->unreadable)[c];
    }
    for (const int32_t f : column_fields_[c]) {
      const Field& field = schema_.fields[static_cast<size_t>(f)];
      Code result{0, 0.0F};
      if (missing) {
        // code 0
      } else if (field.kind == FieldKind::piecewise) {
        result = piecewise(field.edges, value);
      } else if (field.kind == FieldKind::plain) {
        result = plain(field, value);
      } else {
        const Lookup& lookup = lookups_[static_cast<size_t>(f)];
        const auto found = lookup.find(cell);
        result.code = found == lookup.end() ? 1 : found->second;
        if (result.code == 1 && counts != nullptr) ++counts->unseen[c];
      }
      codes[f] = result.code;
      slopes[f] = result.slope;
    }
  }
}

int32_t RowEncoder::class_of(std::string_view label) const {
  const auto found = classes_.find(trim(label));
  return found == classes_.end() ? -1 : found->second;
}

}  // namespace l0gm
