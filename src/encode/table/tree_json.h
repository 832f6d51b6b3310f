#pragma once

#include <nlohmann/json_fwd.hpp>

#include "encode/table/schema.h"

namespace l0gm {

// Without arrays: start, splits and leaves are left out, to be stored beside the JSON.
nlohmann::json trees_to_json(const TreeScores& trees, bool with_arrays);
// UserError if something is absent or does not fit the schema's fields, cuts and classes. separate: has the arrays, where the
// JSON has none; moved from.
TreeScores trees_from_json(const nlohmann::json& json, const Schema& schema, TreeScores* separate = nullptr);

}  // namespace l0gm
