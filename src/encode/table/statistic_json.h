#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "encode/table/schema.h"

// Statistics and cuts as parts of a schema's JSON. What is absent, of the wrong type or inconsistent is a UserError.
namespace l0gm {

inline constexpr int64_t most_rows = int64_t{1} << 53;  // up to here sums of counts neither overflow nor lose digits as double
inline constexpr int64_t most_cuts = 4096;              // of a schema: a row's codes of them are kept on the stack

// The part as a member `name`, of a cut `name`_cut; empty if the JSON has neither and `name` is "second".
void part_to_json(const KeyPart& part, const std::string& name, nlohmann::json& json);
KeyPart part_from_json(const nlohmann::json& json, std::string_view where, const std::string& name, const Schema& schema);

nlohmann::json statistic_to_json(const Statistic& statistic, bool with_arrays);
// `schema` has its fields, cuts and classes already. separate: the arrays, if they are stored outside the JSON; moved from.
Statistic statistic_from_json(const nlohmann::json& json, std::string_view where, const Schema& schema, Statistic* separate);
// `schema` has its columns already. Schemas of earlier versions have no cuts.
std::vector<Cut> cuts_from_json(const nlohmann::json& json, const Schema& schema);

}  // namespace l0gm
