#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <map>
#include <numeric>
#include <string>
#include <vector>

#include "data/table/fit.h"
#include "l0gm/error.h"

// Fitting small tables in tests.
namespace l0gm::fit_tools {

inline std::vector<int64_t> all_rows(const TextTable& table) {
  std::vector<int64_t> rows(static_cast<size_t>(table.rows()));
  std::iota(rows.begin(), rows.end(), 0);
  return rows;
}

struct Given {
  TableOptions table;
  std::map<std::string, ColumnOptions> columns;
  std::map<std::string, std::string> types;
};

inline Schema fit(const TextTable& table, const Given& given = {}) {
  return fit_schema(table, table.column("y"), all_rows(table), given.table, given.columns, given.types);
}

inline Schema fit_cells(const std::vector<std::string>& cells, const Given& given = {}) {
  TextTable table({"x", "anchor", "y"});  // the anchor keeps the schema from being empty when x is left out
  for (size_t i = 0; i < cells.size(); ++i) table.add_row({cells[i], std::to_string(i % 3), i % 2 == 0 ? "a" : "b"});
  return fit(table, given);
}

inline std::string error_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const UserError& error) {
    return error.what();
  }
  return "no error";
}

inline testing::AssertionResult contains(const std::string& text, const std::vector<std::string>& parts) {
  for (const auto& part : parts) {
    if (text.find(part) == std::string::npos) return testing::AssertionFailure() << "'" << part << "' is not in: " << text;
  }
  return testing::AssertionSuccess();
}

}  // namespace l0gm::fit_tools
