#include "compact/table/check_rows.h"

#include <array>
#include <cmath>

#include "base/random.h"
#include "base/text.h"
#include "encode/table/number_text.h"

namespace l0gm {

namespace {

constexpr auto unreadable = std::to_array<std::string_view>({"seven", "1,5", "12 34", "0x10", "1e", "--3"});
constexpr auto extreme = std::to_array<std::string_view>(
    {"1e308", "-1e308", "1e999", "-1e999", "inf", "-inf", "4.9e-324", "-0", "0", "9007199254740993"});

template <class List>
std::string any_of_list(const List& list, RandomStream& random) {
  return std::string(list[random.below(list.size())]);
}

class CellMaker {
 public:
  CellMaker(const Schema& schema, size_t column) : schema_(schema), column_(schema.columns[column]) {
    for (const Field& field : schema.fields) {
      if (field.column != static_cast<int64_t>(column)) continue;
      if (!field.values.empty()) values_ = &field.values;
      if (!field.edges.empty()) edges_ = &field.edges;
      if (!field.vocabulary.empty()) vocabulary_ = &field.vocabulary;
      if (field.kind == FieldKind::multi) {
        separator_ = field.separator;
        slots_ = field.slots;
      }
    }
  }

  std::string cell(RandomStream& random) const {
    const double kind = random.uniform();
    if (kind < 0.05 && !schema_.missing_marks.empty()) return any_of_list(schema_.missing_marks, random);
    if (kind < 0.08 && !column_.missing_marks.empty()) return any_of_list(column_.missing_marks, random);
    if (column_.type == ColumnType::numeric) return number(random);
    if (column_.type == ColumnType::multi) return several(random);
    return text(random);
  }

 private:
  std::string text(RandomStream& random) const {
    if (vocabulary_ == nullptr || random.uniform() < 0.1) return "value " + std::to_string(random.below(100000));
    return any_of_list(*vocabulary_, random);
  }

  std::string several(RandomStream& random) const {
    std::string cell;
    const uint64_t count = random.below(static_cast<uint64_t>(slots_) + 3);  // none, and more than fit, among them
    for (uint64_t i = 0; i < count; ++i) {
      if (!cell.empty()) cell += separator_;
      cell += text(random);
    }
    return cell;
  }

  std::string number(RandomStream& random) const {
    const double span = column_.high - column_.low, kind = random.uniform();
    if (kind < 0.03) return any_of_list(unreadable, random);
    if (kind < 0.08) return any_of_list(extreme, random);
    if (kind < 0.15) return number_text(column_.low + span * (6 * random.uniform() - 3), column_.notation);  // beyond the range
    if (kind < 0.25 && edges_ != nullptr) return number_text((*edges_)[random.below(edges_->size())], column_.notation);
    if (kind < 0.60 && values_ != nullptr) return number_text((*values_)[random.below(values_->size())], column_.notation);
    const double inside = column_.low + span * random.uniform();
    return number_text(column_.integral && random.uniform() < 0.7 ? std::round(inside) : inside, column_.notation);
  }

  const Schema& schema_;
  const Column& column_;
  const std::vector<double>*values_ = nullptr, *edges_ = nullptr;
  const std::vector<std::string>* vocabulary_ = nullptr;
  char separator_ = '|';
  int64_t slots_ = 1;
};

}  // namespace

TextTable make_check_rows(const Schema& schema, int64_t rows, uint64_t seed) {
  std::vector<std::string> names;
  std::vector<CellMaker> makers;
  for (size_t c = 0; c < schema.columns.size(); ++c) {
    names.push_back(schema.columns[c].name);
    makers.emplace_back(schema, c);
  }
  TextTable table(names);
  RandomStream random(seed);
  std::vector<std::string> cells(names.size());
  for (int64_t row = 0; row < rows; ++row) {
    for (size_t c = 0; c < cells.size(); ++c) cells[c] = makers[c].cell(random);
    table.add_row({cells.begin(), cells.end()});
  }
  return table;
}

}  // namespace l0gm
