#pragma once

#include <string>

#include "server/request_rows.h"

namespace l0gm {

// {"rows": [{"age": 39, …}, …]}, {"columns": ["age", …], "rows": [[39, …], …]} or {"texts": ["…", …]}, each perhaps with
// "calibrated". Columns that the model does not read are ignored; one that it reads and that is absent is a RequestError, as is
// everything that is not exactly so. null: missing.
void read_json_rows(std::string& body, const ColumnNames& columns, int64_t most_rows, RequestRows& rows);

}  // namespace l0gm
