#pragma once

#include <vector>

#include "run/evaluation.h"
#include "training/table/table_run.h"

namespace l0gm {

// What each of these columns is worth to the run: by how much the NLL of validation rows rises when its cells are shuffled among
// the rows, and when its units are closed. The latter is left unset without a gate, with gates that depend on the row or on
// single values, for the last open column, and for columns that trees beside the net read as well. At most ten thousand rows
// are asked, fewer where there are many columns.
void fill_column_worth(TableRun& run, std::vector<OpenInput>& columns);

}  // namespace l0gm
