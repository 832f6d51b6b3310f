#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "l0gm/options.h"

// What was learned from training rows about turning a row of text cells into codes. Free of torch: trainer and runtime share it.
namespace l0gm {

enum class ColumnType { categorical, numeric, ignore };
template <>
inline constexpr auto enum_names<ColumnType> = std::to_array<std::string_view>({"categorical", "numeric", "ignore"});

enum class FieldKind { categorical, piecewise, plain };
template <>
inline constexpr auto enum_names<FieldKind> = std::to_array<std::string_view>({"categorical", "piecewise", "plain"});

// One encoding of one column. Every value becomes a row number `code` in the field's own table of rows and, for numerics,
// a `slope` factor:   embedding = row[code] + slope * direction[code].
//   categorical  code 0 = missing, 1 = rare or unseen, 2 … = vocabulary in order of falling count (ties: by text); slope 0
//   piecewise    code 0 = missing, 1 + b = bin b; slope = position inside the bin (0 at its lower edge, 1 at its upper),
//                clipped to [-2, 3] in the outermost bins
//   plain        code 0 = missing, 1 = present; slope = (x - mean) / deviation, clipped to [-8, 8]
struct Field {
  std::string name;                        // the column's name, or with a suffix where a column has several encodings
  int64_t column = 0;                      // index into Schema::columns
  FieldKind kind = FieldKind::categorical;
  std::vector<std::string> vocabulary;     // categorical
  std::vector<double> edges;               // piecewise: bins + 1 strictly increasing edges
  double mean = 0, deviation = 1;          // plain
  int64_t rows() const;                    // number of codes
};

struct Column {
  std::string name;
  ColumnType type = ColumnType::categorical;
  double low = 0, high = 0, deviation = 0;  // numeric: range and standard deviation of the training values
  bool integral = false;                    // numeric: all training values are whole numbers
  int64_t missing = 0;                      // in training rows
  std::vector<std::string> missing_marks;   // besides those of the schema
};

struct Schema {
  std::vector<Column> columns;              // the input columns that are used, in file order
  std::vector<Field> fields;
  std::string label;
  std::vector<std::string> classes;         // sorted: numerically when all are numbers, else by text
  std::vector<std::string> missing_marks;   // cells (trimmed) that mean missing

  nlohmann::json to_json() const;
  static Schema from_json(const nlohmann::json& json);  // UserError when something is absent, of the wrong type or inconsistent
};

inline const std::vector<std::string> default_missing_marks = {"",    "?",   "NA",   "N/A",  "na", "n/a",
                                                               "NaN", "nan", "null", "NULL", "None"};

// Tells whether a trimmed cell means missing. Most cells are let through by their first character.
class MissingMarks {
 public:
  MissingMarks() = default;
  MissingMarks(std::span<const std::string> marks, std::span<const std::string> further);
  bool contains(std::string_view cell) const {
    if (cell.empty()) return empty_;
    return first_[static_cast<unsigned char>(cell.front())] && among_marks(cell);
  }

 private:
  bool among_marks(std::string_view cell) const;
  std::array<bool, 256> first_{};
  bool empty_ = false;
  std::vector<std::string> marks_;
};

struct ColumnOptions {                      // columns.NAME.*
  std::string type;                         // "": inferred
  std::string encoding;                     // "": by the column's properties
  int64_t bins = 0;                         // 0: table.bins
  int64_t min_count = 0;                    // 0: table.min_count
  std::vector<std::string> missing;         // further missing marks

  template <class Visitor>
  void visit(Visitor& v) {
    v("type", type, "`categorical`, `numeric` or `ignore`; empty: inferred from the training rows");
    v("encoding", encoding, "numeric columns: `piecewise` or `plain`; empty: by the column's properties");
    v("bins", bins, "number of quantile bins; 0: table.bins", at_least(0));
    v("min_count", min_count, "categories seen less often share one rare value; 0: table.min_count", at_least(0));
    v("missing", missing, "further texts that mean missing in this column");
  }
};

struct TableOptions {                       // table.*
  int64_t bins = 48;
  int64_t min_count = 1;
  int64_t max_categories = 100000;

  template <class Visitor>
  void visit(Visitor& v) {
    v("bins", bins, "quantile bins of a numeric column", between(1, 100000));
    v("min_count", min_count, "categories seen less often in training share one rare value", at_least(1));
    v("max_categories", max_categories, "a column with more kept categories than this is refused", at_least(1));
  }
};

// Turns rows into codes. Immutable and safe to share between threads.
class RowEncoder {
 public:
  explicit RowEncoder(Schema schema);
  const Schema& schema() const { return schema_; }
  int64_t fields() const { return static_cast<int64_t>(schema_.fields.size()); }

  struct Counts {  // what a file brought that training had not seen; added up by the caller
    std::vector<int64_t> unseen;      // per column: category not in the vocabulary (so also one that was too rare in training)
    std::vector<int64_t> unreadable;  // per column: not a number though the column is numeric: read as missing
    std::vector<int64_t> missing;     // per column: marked as missing (the unreadable are not counted again)
  };
  Counts empty_counts() const;

  // cells[i] belongs to schema().columns[i]; writes one code and one slope per field.
  void encode(const std::string_view* cells, int32_t* codes, float* slopes, Counts* counts = nullptr) const;
  int32_t class_of(std::string_view label) const;  // -1 when it is none of schema().classes

 private:
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
  };
  using Lookup = std::unordered_map<std::string, int32_t, Hash, std::equal_to<>>;
  Schema schema_;
  std::vector<Lookup> lookups_;                        // per field
  std::vector<MissingMarks> missing_marks_;            // per column
  std::vector<std::vector<int32_t>> column_fields_;    // per column: its fields
  Lookup classes_;
};

}  // namespace l0gm
