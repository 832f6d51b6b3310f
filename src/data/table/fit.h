#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/text_table.h"
#include "data/table/options.h"
#include "encode/table/schema.h"

namespace l0gm {

// Learns from the training rows, and from nothing else, how rows become codes. The result does not depend on the rows' order.
// Types, unless given: numeric when every non-missing cell is a number, except whole numbers with at most two different values;
// everything else is categorical. Left out with a warning: a column of one value, one of missing values only, and, unless its
// type is given, one of ten or more texts that are all different (an identifier).
// Fields: one per column with the column's name; a numeric column's exact values, where it has any, are a second one right
// behind, named "<column>=" (with further = where the table has such a column). A column with more categories than max_categories
// is hashed. Rare texts share a code: those seen less often than a thousandth of the rows, at most 10, unless table.min_count
// says otherwise. UserErrors name what was found and what to do: an unknown column in the options, an option that does not fit
// its column, an infinite number, a missing label, a single class, no usable column.
Schema fit_schema(const TextTable& table, int64_t label_column, const std::vector<int64_t>& training_rows,
                  const TableOptions& options, const std::map<std::string, ColumnOptions>& column_options,
                  const std::map<std::string, std::string>& types);

// The distinct labels of some rows: in order of their number when all are numbers, else of their text.
std::vector<std::string> distinct_classes(const TextTable& table, int64_t label_column,
                                          std::span<const std::string> missing_marks, std::span<const int64_t> rows);

// UserError when a label of these rows is missing or not among the classes of training. `part` ("validation", "test", "") is for
// the message.
void check_labels(const TextTable& table, int64_t label_column, const std::vector<std::string>& classes,
                  std::span<const std::string> missing_marks, std::span<const int64_t> rows, std::string_view part);

// Index of `name`, or a UserError "<what> 'name' is not in the table; …" with the nearest name.
int64_t find_column(const std::vector<std::string>& names, std::string_view name, std::string_view what);

}  // namespace l0gm
