#include "data/table/key_columns.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <stdexcept>

#include "data/table/fit_numeric.h"
#include "encode/table/bins.h"

namespace l0gm {

KeyColumns::KeyColumns(const Schema& schema, const EncodedTable& rows, const TextTable* texts)
    : schema_(schema), rows_(rows), texts_(texts), slots_(slots_of_fields(schema)) {
  if (texts == nullptr) return;
  positions_ = match_columns(texts->names(), schema);
  encoder_.emplace(without_statistics(schema));  // reading numbers needs none
}

Schema without_statistics(const Schema& schema) {
  Schema plain = schema;
  std::erase_if(plain.fields, [](const Field& field) { return field.kind == FieldKind::statistic; });
  plain.statistics.clear();
  plain.cuts.clear();
  plain.trees = {};
  return plain;
}

std::vector<double> KeyColumns::numbers(int64_t column) const {
  if (texts_ == nullptr) throw std::logic_error("statistics: cuts need the texts of the rows");
  const auto c = static_cast<size_t>(column);
  std::vector<double> result;
  result.reserve(rows_.row_numbers.size());
  for (const int64_t row : rows_.row_numbers) result.push_back(encoder_->number_of(c, texts_->cell(row, positions_[c])));
  return result;
}

KeyColumn KeyColumns::of(const KeyPart& part) const {
  if (part.cut >= 0) return codes_of_cut(schema_.cuts[static_cast<size_t>(part.cut)].edges, numbers(schema_.column_of(part)));
  KeyColumn result{schema_.rows_of(part), {}};
  const int64_t slot = slots_[static_cast<size_t>(part.field)];
  result.codes.reserve(rows_.row_numbers.size());
  for (int64_t row = 0; row < rows_.rows(); ++row)
    result.codes.push_back(rows_.codes[static_cast<size_t>(row * rows_.code_slots + slot)]);
  return result;
}

KeyColumn codes_of_cut(const std::vector<double>& edges, const std::vector<double>& numbers) {
  KeyColumn result{static_cast<int64_t>(edges.size()) + 2, {}};
  result.codes.reserve(numbers.size());
  for (const double number : numbers) result.codes.push_back(cut_code(edges, number));
  return result;
}

KeyPart part_of_cut(Schema& schema, int64_t column, const std::vector<double>& edges) {
  const auto same = [&](const Cut& cut) { return cut.column == column && cut.edges == edges; };
  const auto found = std::find_if(schema.cuts.begin(), schema.cuts.end(), same);
  const int64_t index = found - schema.cuts.begin();
  if (found == schema.cuts.end()) schema.cuts.push_back({column, edges});
  return KeyPart::of_cut(index);
}

std::vector<double> sorted_finite(std::vector<double> numbers) {
  std::erase_if(numbers, [](double number) { return !std::isfinite(number); });
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

std::vector<double> cut_edges(const std::vector<double>& sorted, int64_t ranges) {
  std::vector<double> edges;
  std::unique_copy(sorted.begin(), sorted.end(), std::back_inserter(edges));
  if (edges.size() < 2) return {};
  if (std::ssize(edges) > ranges) {
    edges = quantile_edges(sorted, ranges);
    edges.pop_back();  // the largest number: its range ends there
  }
  edges.erase(edges.begin());  // the smallest number: nothing is below
  return edges;
}

}  // namespace l0gm
