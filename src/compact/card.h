#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "data/table/encode/schema.h"

namespace l0gm {

// A model card in Markdown. `about`: what the compact file says about itself (compact_run.cpp); `file`: its name.
std::string model_card(const std::string& file, const Schema& schema, const nlohmann::json& about);

}  // namespace l0gm
