#pragma once

#include <string>

#include "server/request_rows.h"

namespace l0gm {

// CSV with a header line, columns in any order, others ignored.
void read_csv_rows(std::string& body, const ColumnNames& columns, char delimiter, int64_t most_rows, RequestRows& rows);

}  // namespace l0gm
