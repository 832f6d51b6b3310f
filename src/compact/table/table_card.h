#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "encode/table/schema.h"

namespace l0gm {

// The model card of a table's compact file, in Markdown. `about`: what the file says about itself; `file`: its name.
std::string table_card(const std::string& file, const Schema& schema, const nlohmann::json& about);

}  // namespace l0gm
