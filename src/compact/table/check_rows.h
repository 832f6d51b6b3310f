#pragma once

#include <cstdint>

#include "base/text_table.h"
#include "encode/table/schema.h"

namespace l0gm {

// Rows to try a model with: what training knew, mixed with what a file can bring: missing marks, unseen and unreadable texts,
// numbers between, beyond and far beyond those of training. The same seed gives the same rows.
TextTable make_check_rows(const Schema& schema, int64_t rows, uint64_t seed);

}  // namespace l0gm
