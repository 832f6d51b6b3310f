#pragma once

#include <map>
#include <string>

#include "data/table/options.h"
#include "encode/table/schema.h"

namespace l0gm {

// The type and options that the user set for a column, from data.types and columns.NAME together.
struct ColumnRequest {
  std::string type;  // "": inferred from the data
  ColumnOptions options;
};

// A type that is not set is derived from options that only one type has. UserErrors: an unknown name, contradictory types, an
// invalid separator.
ColumnRequest column_request(const std::string& name, const std::map<std::string, ColumnOptions>& column_options,
                             const std::map<std::string, std::string>& types);

// UserError when an option is set that does not apply to a column of this type.
void check_column_request(const std::string& name, const ColumnRequest& request, ColumnType type, const TableOptions& options);

// The value for the column: its own option, else the table's.
int64_t min_count_of(const ColumnRequest& request, const TableOptions& options, int64_t by_default);
ExactValues exact_values_of(const ColumnRequest& request, const TableOptions& options);
char decimal_of(const ColumnRequest& request, const TableOptions& options);  // '.' or ','; 0: not given
char separator_of(const ColumnRequest& request);

}  // namespace l0gm
