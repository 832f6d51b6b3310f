#pragma once

#include <nlohmann/json_fwd.hpp>

#include "training/table_run.h"

namespace l0gm {

// What the gates of a finished run let through, over the rows of a split: units, fractions, parameters that remain, and which source
// columns are still read. With instance logits: means over examples, quantiles, and how often each column is open.
nlohmann::json report_gates(LoadedRun& run, const TableTensors& rows);

// What the interface of every row was multiplied with, [rows, width]: ones where nothing gates it.
torch::Tensor gates_by_row(LoadedRun& run, const TableTensors& rows);

}  // namespace l0gm
