#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>

#include "training/table/table_run.h"

namespace l0gm {

// What the gates of a finished run let through, over the rows of a split: units, fractions, parameters that remain, and which
// source columns are still read. With instance logits: means over examples, quantiles, and how often each column is open.
nlohmann::json report_gates(LoadedTable& run, const TableTensors& rows);

// The part of it that any modality has. `gates`: what the interface of every example was multiplied with, [examples, width];
// asked for only where that depends on the example. `share_of_dimension`: how often each dimension is open, [width]; may be
// nullptr.
nlohmann::json report_units(LoadedRun& run, const std::function<torch::Tensor()>& gates, torch::Tensor* share_of_dimension);

// What the interface of every row was multiplied with, [rows, width]: ones where nothing gates it.
torch::Tensor gates_by_row(LoadedTable& run, const TableTensors& rows);

}  // namespace l0gm
