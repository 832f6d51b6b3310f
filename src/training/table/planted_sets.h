#pragma once

#include "training/table/table_run.h"

namespace l0gm {

// What only planted-table knows: the product pair; in the variant `instance`, on what share of rows the set of columns that
// matters for the row is open, and the other one closed.
void add_planted_sets(TableRun& run, Split split, PlantedReport& report);

}  // namespace l0gm
