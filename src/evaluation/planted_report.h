#pragma once

#include <nlohmann/json_fwd.hpp>

#include "training/table/table_run.h"

namespace l0gm {

// Made data knows its truth: which planted columns are still read, and which of the columns read are not planted. In the variant
// `instance`, also on what share of rows the set of columns that matters for the row is open.
nlohmann::json compare_with_planted(LoadedTable& run, const TableTensors& rows, const EncodedTable& codes,
                                    const nlohmann::json& open_columns);
// The first two alone. `open_columns`: a list of objects with a name.
nlohmann::json compare_open(const std::vector<std::string>& planted, const nlohmann::json& open_columns);

}  // namespace l0gm
