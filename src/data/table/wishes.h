#pragma once

#include <map>
#include <string>

#include "data/table/options.h"
#include "encode/table/schema.h"

namespace l0gm {

// What the user said about a column, from data.types and columns.NAME together.
struct Wish {
  std::string type;  // "": to be inferred
  ColumnOptions options;
};

// A type that is not given follows from options that only one type has. UserErrors: an unknown name, two that contradict each
// other, a separator that cannot be one.
Wish wish_for(const std::string& name, const std::map<std::string, ColumnOptions>& column_options,
              const std::map<std::string, std::string>& types);

// UserError when an option was given that a column of this type has no use for.
void check_wish(const std::string& name, const Wish& wish, ColumnType type, const TableOptions& options);

// What counts for the column: its own option, else the table's.
int64_t min_count_of(const Wish& wish, const TableOptions& options, int64_t by_default);
ExactValues exact_values_of(const Wish& wish, const TableOptions& options);
char separator_of(const Wish& wish);

}  // namespace l0gm
