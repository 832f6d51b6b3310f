#pragma once

#include <optional>
#include <string>
#include <vector>

#include "l0gm/options.h"

namespace l0gm {

enum class ExactValues { automatic, on, off };
template <>
inline constexpr auto enum_names<ExactValues> = std::to_array<std::string_view>({"auto", "on", "off"});
enum class Statistics { automatic, none, columns, pairs };
template <>
inline constexpr auto enum_names<Statistics> = std::to_array<std::string_view>({"auto", "none", "columns", "pairs"});

enum class TreesBeside { automatic, on, off };
template <>
inline constexpr auto enum_names<TreesBeside> = std::to_array<std::string_view>({"auto", "on", "off"});

struct ColumnOptions {                      // columns.NAME.*
  std::string type;                         // "": inferred
  std::string encoding;                     // "": by the column's properties
  std::optional<ExactValues> exact_values;  // unset: table.exact_values
  int64_t bins = 0;                         // 0: table.bins
  int64_t min_count = 0;                    // 0: table.min_count
  int64_t hash_buckets = 0;                 // 0: not hashed
  std::string separator;                    // "": |
  std::vector<std::string> missing;         // further missing marks
  std::string decimal;                      // "": table.decimal

  template <class Visitor>
  void visit(Visitor& v) {
    v("type", type,
      "`categorical`, `numeric`, `multi` (several values in a cell) or `ignore`; empty: inferred from the training rows");
    v("encoding", encoding, "numeric columns: `piecewise`, `plain` or `periodic`; empty: by the column's properties");
    v("exact_values", exact_values,
      "numeric columns: single values as categories beside the encoding; unset: table.exact_values");
    v("bins", bins, "number of quantile bins; 0: table.bins", at_least(0));
    v("min_count", min_count, "values seen less often share one rare value; 0: table.min_count", at_least(0));
    v("hash_buckets", hash_buckets, "texts are hashed into so many rows (identifiers); 0: a vocabulary is kept",
      between(0, 1 << 28));
    v("separator", separator, "`multi` columns: one character between the values; empty: `|`");
    v("missing", missing, "further texts that mean missing in this column");
    v("decimal", decimal,
      "numeric columns: `,` when numbers are written 1.234,5, `.` when they are written 1,234.5; empty: table.decimal");
  }
};

struct TableOptions {  // table.*
  int64_t bins = 48;
  ExactValues exact_values = ExactValues::automatic;
  int64_t min_count = 0;  // 0: by the number of rows
  int64_t max_categories = 100000;
  Statistics statistics = Statistics::automatic;
  int64_t max_statistics = 120;
  int64_t rows_per_input = 20;
  TreesBeside trees = TreesBeside::automatic;
  bool refit_columns = true;
  int64_t max_pairs = 100;
  double smoothing = 10;
  std::string decimal;  // "": by the cells

  template <class Visitor>
  void visit(Visitor& v) {
    v("bins", bins, "quantile bins of a numeric column", between(1, 100000));
    v("exact_values", exact_values,
      "numeric columns: single values as categories beside the bins; `auto`: where a column has few values, each seen often, "
      "or values that make up a hundredth of the rows alone (those only)");
    v("min_count", min_count,
      "values seen less often in training share one rare value; 0: texts a thousandth of the training rows, at most 10 (rare "
      "texts are memorised, and a gate would keep their units), exact numbers 1",
      at_least(0));
    v("max_categories", max_categories, "a column with more kept categories than this is hashed into so many rows", at_least(1));
    v("statistics", statistics,
      "out-of-fold target statistics as further inputs. `auto`: of columns and pairs, numeric ones cut at several resolutions, "
      "as "
      "many as tell something of the label beyond noise on training folds, and none where none does (with `gate.unit = group` of "
      "columns only; with `fine` units or `gate.logits = instance` of categories only); `columns`, `pairs`: of each column with "
      "categories or exact values, or also of their pairs");
    v("max_statistics", max_statistics,
      "`auto`: most statistics; fewer where there are many classes, few rows (`rows_per_input`) or many (2 GiB of inputs)",
      between(1, 2000))
        .read_by("table.statistics = auto");
    v("rows_per_input", rows_per_input,
      "`auto`: at least so many training rows for each input that statistics make; 240 inputs altogether, with 5 rows or fewer "
      "960. Many statistics of few rows help some tables much and harm others (`train.trials`)",
      at_least(1))
        .read_by("table.statistics = auto");
    v("trees", trees,
      "boosted trees of our own beside the net: probabilities are a mean of both, weighted as validation rows say. `auto`: `on` "
      "where `model.name` is not named, unless a budget counts serving time, a teacher is asked or quality is `fast`. With a "
      "budget of columns they read those that stay. None with more than 20 classes, fewer than 100 training rows, or where "
      "validation rows gain nothing by them");
    v("refit_columns", refit_columns,
      "with a budget of columns: the gate's choice is compared with sets that small boosted trees, grown on each set alone, find "
      "better on training rows; another one is taken where validation rows agree. Columns of more than 31 categories stay as the "
      "gate has them. Not where columns differ in cost, or classes in weight")
        .read_by("gate.unit = group");
    v("max_pairs", max_pairs,
      "`pairs`: most pairs of columns with statistics; the columns that tell most of the label are paired first", at_least(1))
        .read_by("table.statistics = pairs");
    v("smoothing", smoothing, "rows that the prior weighs as much as in a target statistic", above(0));
    v("decimal", decimal,
      "`,` when numbers are written 1.234,5, `.` when they are written 1,234.5; empty: plain numbers, unless a column's cells "
      "are "
      "numbers in one of these ways only");
  }
};

}  // namespace l0gm
