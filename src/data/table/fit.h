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

// Fits the schema, which defines how rows become codes, to the training rows only. The result does not depend on their order.
// Types, unless given: numeric when every non-missing cell is a number, or all but a few (data/table/read_numbers.h), except
// whole numbers with at most two different values; everything else is categorical. Left out with a warning: a column of one
// value, one of missing values only, and, unless its type is given, one of identifiers (data/table/identifiers.h). Fields: one
// per column with the column's name; a numeric column's exact values, where it has any, are a second one right behind, named
// "<column>=" (with further = where the table has such a column). A column with more categories than max_categories is hashed.
// Rare texts share a code: those seen less often than a thousandth of the rows, at most 10, unless table.min_count says
// otherwise. UserErrors name what was found and what to do: an unknown column in the options, an option that does not fit its
// column, an infinite number, a missing label, a label that is a quantity, a single class, no usable column.
Schema fit_schema(const TextTable& table, int64_t label_column, const std::vector<int64_t>& training_rows,
                  const TableOptions& options, const std::map<std::string, ColumnOptions>& column_options,
                  const std::map<std::string, std::string>& types);

// Index of `name`, or a UserError "<what> 'name' is not in the table; …" with the nearest name.
int64_t find_column(const std::vector<std::string>& names, std::string_view name, std::string_view what);

}  // namespace l0gm
