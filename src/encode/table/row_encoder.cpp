#include "encode/table/row_encoder.h"

#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include "base/text.h"
#include "encode/table/cell_text.h"
#include "encode/table/missing_marks.h"
#include "encode/table/number_column.h"
#include "encode/table/number_text.h"
#include "encode/table/statistic_json.h"
#include "encode/table/statistics.h"
#include "encode/table/text_column.h"
#include "encode/table/tree_encoder.h"

namespace l0gm {

// Columns are grouped by kind: one loop per kind, without a branch on the kind inside it.
struct RowEncoder::Tables {
  Schema schema;                    // columns point into it: must not move
  std::vector<MissingMarks> marks;  // per column
  std::vector<CodeColumn> code_columns;
  std::vector<NumberColumn> number_columns;
  std::vector<std::vector<size_t>> cuts;  // per number column; none: the schema has no cuts
  std::vector<MultiCodeColumn> multi_code_columns;
  std::vector<size_t> index_in_kind;  // per column: its index among the columns of its kind
  std::vector<int32_t> in_order;      // positions for cells in the order of the columns
  TextCodes classes;
  std::optional<StatisticEncoder> statistics;
  std::optional<TreeEncoder> trees;
  int64_t first_of_trees = 0;  // among the slopes of a row

  explicit Tables(Schema schema_);
  Tables(const Tables&) = delete;
  void add_column(size_t column, const std::vector<std::pair<const Field*, int64_t>>& fields);
  void code_cuts(size_t number_column, double value, int32_t* cut_codes) const {
    for (const size_t cut : cuts[number_column]) cut_codes[cut] = cut_code(schema.cuts[cut].edges, value);
  }
  // Source reads the row: code(column), number(column) and cell(column) for the three kinds; it counts missing and
  // unreadable cells.
  template <class Source>
  void encode(const Source& source, int32_t* codes, float* slopes, Counts* counts) const;
};

RowEncoder::Tables::Tables(Schema schema_) : schema(std::move(schema_)), classes(schema.classes) {
  const std::vector<int64_t> slots = slots_of_fields(schema);
  std::vector<std::vector<std::pair<const Field*, int64_t>>> fields(schema.columns.size());  // fields with codes, and their slots
  for (size_t f = 0; f < slots.size() && schema.fields[f].kind != FieldKind::statistic; ++f) {  // statistics come last
    fields[static_cast<size_t>(schema.fields[f].column)].emplace_back(&schema.fields[f], slots[f]);
  }
  for (size_t c = 0; c < fields.size(); ++c) add_column(c, fields[c]);
  if (!schema.statistics.empty()) statistics.emplace(schema);
  if (!schema.trees.empty()) trees.emplace(schema);
  first_of_trees = schema.slope_slots() - schema.trees.outputs;
  if (schema.cuts.empty()) return;
  if (std::ssize(schema.cuts) > most_cuts) throw std::logic_error("RowEncoder: more cuts than are allowed");
  cuts.resize(number_columns.size());
  for (size_t i = 0; i < schema.cuts.size(); ++i) cuts[index_in_kind[static_cast<size_t>(schema.cuts[i].column)]].push_back(i);
}

void RowEncoder::Tables::add_column(size_t column, const std::vector<std::pair<const Field*, int64_t>>& fields) {
  marks.emplace_back(schema.missing_marks, schema.columns[column].missing_marks);
  in_order.push_back(static_cast<int32_t>(column));
  if (schema.columns[column].type == ColumnType::numeric) {
    index_in_kind.push_back(number_columns.size());
    NumberColumn& added = number_columns.emplace_back(column, schema.columns[column].notation);
    for (const auto& [field, slot] : fields) added.add(*field, slot);
    added.compute_known();
  } else if (fields.size() == 1 && fields[0].first->kind != FieldKind::multi) {
    index_in_kind.push_back(code_columns.size());
    code_columns.emplace_back(*fields[0].first, fields[0].second);
  } else {
    index_in_kind.push_back(multi_code_columns.size());
    MultiCodeColumn& added = multi_code_columns.emplace_back(column);
    for (const auto& [field, slot] : fields) added.add(*field, slot);
  }
}

template <class Source>
void RowEncoder::Tables::encode(const Source& source, int32_t* codes, float* slopes, Counts* counts) const {
  for (const CodeColumn& column : code_columns) {
    const int32_t code = source.code(column);
    if (code == 1 && counts != nullptr && !column.hashed) [[unlikely]]
      ++counts->unseen[column.column];
    codes[column.slot] = code;
    slopes[column.slot] = 0.0F;
  }
  std::array<int32_t, most_cuts> cut_codes;  // only what cuts fill is read
  for (size_t i = 0; i < number_columns.size(); ++i) {
    const double value = source.number(number_columns[i]);
    number_columns[i].encode(value, codes, slopes);
    if (!cuts.empty()) code_cuts(i, value, cut_codes.data());
  }
  for (const MultiCodeColumn& column : multi_code_columns) {
    column.encode(source.cell(column), marks[column.column()], codes, slopes, counts);
  }
  if (statistics) statistics->encode(codes, slopes, cut_codes.data());
  if (trees) trees->encode(codes, cut_codes.data(), slopes, slopes + first_of_trees);
}

namespace {

constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

// The number in a trimmed cell that is not missing as a text: NaN where it is missing as a number, or none (`unreadable`).
inline double number_in(std::string_view text, char notation, const MissingMarks& marks, bool& unreadable) {
  double value = 0;
  if (notation != 0 || !read_plain_number(text, value)) {
    const std::optional<double> parsed = parse_number(text, notation);
    unreadable = !parsed;
    value = parsed.value_or(not_a_number);
  }
  return marks.contains(value) ? not_a_number : value;  // marks compare as numbers: -999 is -999.0
}

class TextSource {
 public:
  TextSource(const std::string_view* cells, const int32_t* positions, const std::vector<MissingMarks>& marks,
             RowEncoder::Counts* counts)
      : cells_(cells), positions_(positions), marks_(marks.data()), counts_(counts) {}

  int32_t code(const CodeColumn& column) const {
    const std::string_view text = text_of(column.column);
    return is_missing(column.column, text) ? 0 : column.of_text(text);
  }
  double number(const NumberColumn& of) const {
    const size_t column = of.column();
    const std::string_view text = text_of(column);
    if (is_missing(column, text)) return not_a_number;
    bool unreadable = false;
    const double value = number_in(text, of.notation(), marks_[column], unreadable);
    if (counts_ != nullptr && std::isnan(value)) [[unlikely]]
      ++(unreadable ? counts_->unreadable : counts_->missing)[column];
    return value;
  }
  TextCell cell(const MultiCodeColumn& column) const {
    const std::string_view text = text_of(column.column());
    return {.text = text, .missing = is_missing(column.column(), text)};
  }

 private:
  std::string_view text_of(size_t column) const { return trimmed(cells_[positions_[column]]); }
  bool is_missing(size_t column, std::string_view text) const {
    const bool missing = marks_[column].contains(text) || cells_[positions_[column]].data() == nullptr;
    if (missing && counts_ != nullptr) ++counts_->missing[column];
    return missing;
  }
  const std::string_view* cells_;
  const int32_t* positions_;
  const MissingMarks* marks_;
  RowEncoder::Counts* counts_;
};

class NumberSource {
 public:
  NumberSource(const double* numbers, const int32_t* positions, const std::vector<MissingMarks>& marks,
               RowEncoder::Counts* counts)
      : numbers_(numbers), positions_(positions), marks_(marks.data()), counts_(counts) {}

  int32_t code(const CodeColumn& column) const {
    return code_from_number(number_of(column.column), column.codes, column.hashed, column.column, counts_);
  }
  double number(const NumberColumn& of) const {
    const size_t column = of.column();
    double value = number_of(column);
    if (marks_[column].contains(value)) [[unlikely]]
      value = not_a_number;
    if (counts_ != nullptr && std::isnan(value)) [[unlikely]]
      ++counts_->missing[column];
    return value;
  }
  TextCell cell(const MultiCodeColumn& column) const { return column.from_number(number_of(column.column()), counts_); }

 private:
  double number_of(size_t column) const { return numbers_[positions_[column]]; }
  const double* numbers_;
  const int32_t* positions_;
  const MissingMarks* marks_;
  RowEncoder::Counts* counts_;
};

}  // namespace

RowEncoder::RowEncoder(Schema schema) : tables_(std::make_shared<const Tables>(std::move(schema))) {}

const Schema& RowEncoder::schema() const { return tables_->schema; }

RowEncoder::Counts RowEncoder::empty_counts() const {
  const std::vector<int64_t> zeros(schema().columns.size(), 0);
  return {zeros, zeros, zeros};
}

void RowEncoder::encode(const std::string_view* cells, int32_t* codes, float* slopes, Counts* counts,
                        const int32_t* positions) const {
  if (positions == nullptr) positions = tables_->in_order.data();
  tables_->encode(TextSource(cells, positions, tables_->marks, counts), codes, slopes, counts);
}

void RowEncoder::encode_numbers(const double* numbers, int32_t* codes, float* slopes, Counts* counts,
                                const int32_t* positions) const {
  if (positions == nullptr) positions = tables_->in_order.data();
  tables_->encode(NumberSource(numbers, positions, tables_->marks, counts), codes, slopes, counts);
}

double RowEncoder::number_of(size_t column, std::string_view cell) const {
  const std::string_view text = trimmed(cell);
  const MissingMarks& marks = tables_->marks[column];
  bool unreadable = false;
  return cell.data() == nullptr || marks.contains(text) ? not_a_number
                                                        : number_in(text, schema().columns[column].notation, marks, unreadable);
}

int32_t RowEncoder::code_of(size_t column, std::string_view text) const {
  if (schema().columns.at(column).type == ColumnType::numeric) {
    throw std::logic_error("code_of: column '" + schema().columns[column].name + "' is numeric");
  }
  const std::string_view cell = trimmed(text);
  const MissingMarks& marks = tables_->marks[column];
  if (marks.contains(cell)) return 0;
  const size_t index = tables_->index_in_kind[column];
  const bool has_one_code = index < tables_->code_columns.size() && tables_->code_columns[index].column == column;
  return has_one_code ? tables_->code_columns[index].of_text(cell) : tables_->multi_code_columns[index].code_of(cell, marks);
}

int32_t RowEncoder::class_of(std::string_view label) const {
  const int32_t code = tables_->classes.code(trimmed(label));
  return code == 1 ? -1 : code - 2;
}

}  // namespace l0gm
