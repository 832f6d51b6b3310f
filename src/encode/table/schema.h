#pragma once

#include <array>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "encode/table/key_part.h"
#include "encode/table/missing_marks.h"
#include "encode/table/tree_scores.h"
#include "l0gm/options.h"

// What was learned from training rows about turning a row of text cells into codes. Free of torch: trainer and runtime share it.
namespace l0gm {

enum class ColumnType { categorical, numeric, multi, ignore };
template <>
inline constexpr auto enum_names<ColumnType> = std::to_array<std::string_view>({"categorical", "numeric", "multi", "ignore"});

enum class FieldKind { categorical, exact, hashed, multi, piecewise, plain, periodic, statistic };
template <>
inline constexpr auto enum_names<FieldKind> =
    std::to_array<std::string_view>({"categorical", "exact", "hashed", "multi", "piecewise", "plain", "periodic", "statistic"});

// One encoding of one column. Every value becomes a row number `code` in the field's own table of rows and, for numerics,
// a `slope` factor:   embedding = row[code] + slope * direction[code].
//   categorical  code 0 = missing, 1 = rare or unseen, 2 … = vocabulary in order of falling count (ties: by text); slope 0
//   exact        the same over the numbers of a numeric column: "1", "1.0" and "01" are one value
//   hashed       code 0 = missing, 1 + hash of the text modulo `buckets`; slope 0
//   multi        several values in one cell, `slots` codes of the vocabulary: embedding = sum of slope * row[code], slope =
//                1 / number of values, 0 in unused slots; an empty cell is the value "missing". Values beyond the slots are
//                dropped (counted as unseen), repeated ones count once
//   piecewise    code 0 = missing, 1 + b = bin b; slope = position inside the bin (0 at its lower edge, 1 at its upper),
//                clipped to [-2, 3] in the outermost bins
//   plain        code 0 = missing, 1 = present; slope = (x - mean) / deviation, clipped to [-8, 8]
//   periodic     as plain; the encoder makes sines and cosines of the slope
//   statistic    no code; slope = a target statistic of one or two other fields' codes, standardised, clipped to [-4, 4]
struct Field {
  std::string name;    // the column's name, or with a suffix where a column has several encodings
  int64_t column = 0;  // index into Schema::columns; statistic of a pair: of the first field's column
  FieldKind kind = FieldKind::categorical;
  std::vector<std::string> vocabulary;  // categorical, multi
  std::vector<double> values;           // exact: by falling count (ties: ascending)
  std::vector<double> edges;            // piecewise: bins + 1 strictly increasing edges
  double mean = 0, deviation = 1;       // plain, periodic, statistic
  int64_t buckets = 0;                  // hashed
  int64_t slots = 1;                    // multi: values of a cell that are read
  char separator = '|';                 // multi
  int64_t statistic = -1;               // statistic: index into Schema::statistics
  int64_t of_class = -1;                // statistic: the class of the log odds; -1: log(1 + rows) of the key
  int64_t rows() const;                 // number of codes; statistic: 0
  bool is_lookup() const {              // a row per code and nothing else
    return kind == FieldKind::categorical || kind == FieldKind::exact || kind == FieldKind::hashed;
  }
};

// A numeric column cut into ranges, as a key of statistics and an input of trees: code 0 = missing, 1 + the number of edges that
// are at most the value.
struct Cut {
  int64_t column = 0;
  std::vector<double> edges;  // strictly increasing
  int64_t rows() const { return static_cast<int64_t>(edges.size()) + 2; }
};

// How often each key (one code, or two) occurs in training rows, and with which classes.
struct Statistic {
  KeyPart first = 0, second = -1;     // second may be empty. key = code, or code of first * rows of second + code of second
  std::vector<int64_t> keys;          // ascending
  std::vector<int64_t> counts;        // per key
  std::vector<int64_t> class_counts;  // keys x tracked classes (two classes: of class 1; more: of all)
  bool of_pair() const { return !second.empty(); }
};

struct Column {
  std::string name;
  ColumnType type = ColumnType::categorical;
  double low = 0, high = 0, deviation = 0;  // numeric: range and standard deviation of the training values
  bool integral = false;                    // numeric: all training values are whole numbers
  int64_t missing = 0;                      // in training rows
  std::vector<std::string> missing_marks;   // in addition to the schema's
  char notation = 0;                        // numeric: how its numbers are written (encode/table/number_text.h)
};

struct Schema {
  std::vector<Column> columns;  // the input columns that are used, in file order
  std::vector<Field> fields;    // statistics after all others
  std::vector<Statistic> statistics;
  std::vector<Cut> cuts;  // that statistics are keyed by and trees read; they have no slot of an encoded row
  TreeScores trees;       // beside the net; often none
  double smoothing = 10;  // of statistics: weight of the prior, in rows
  std::string label;
  std::vector<std::string> classes;        // sorted: numerically when all are numbers, else by text
  std::vector<int64_t> class_rows;         // training rows of each class
  std::vector<std::string> missing_marks;  // cells (trimmed) that mean missing

  int64_t code_slots() const;       // codes of one encoded row: one per field, more for `multi`, none for statistics
  int64_t statistic_slots() const;  // fields that are statistics
  // Slopes of one encoded row: those of the codes, one per statistic field, then the log odds of trees.
  int64_t slope_slots() const { return code_slots() + statistic_slots() + trees.outputs; }
  int64_t rows_of(const KeyPart& part) const;                     // number of codes
  int64_t column_of(const KeyPart& part) const;                   // index into columns
  std::vector<int64_t> columns_of(const TreeInput& input) const;  // one, or those of a statistic
  int64_t tracked_classes() const { return classes.size() == 2 ? 1 : static_cast<int64_t>(classes.size()); }

  // Without arrays: the keys, counts and class_counts of statistics and the arrays of trees are left out, to be stored beside the
  // JSON.
  nlohmann::json to_json(bool with_arrays = true) const;
  // UserError if something is absent, of the wrong type or inconsistent. arrays: one per statistic, with only keys, counts and
  // class_counts filled, and those of trees; used where the JSON has none, and moved from.
  static Schema from_json(const nlohmann::json& json, std::vector<Statistic>* arrays = nullptr,
                          TreeScores* tree_arrays = nullptr);
};

// The first slot of each field in an encoded row; statistics: of its slope.
inline std::vector<int64_t> slots_of_fields(const Schema& schema) {
  std::vector<int64_t> slots;
  int64_t next = 0;
  for (const Field& field : schema.fields) {
    slots.push_back(next);
    next += field.slots;
  }
  return slots;
}

}  // namespace l0gm
