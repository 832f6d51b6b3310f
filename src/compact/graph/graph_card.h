#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace l0gm {

// The model card of a graph's compact file: of the model, or of look-ups. `about`: what the file says about itself; `links`:
// pairs of nodes are scored.
std::string graph_card(const std::string& file, const nlohmann::json& about);

}  // namespace l0gm
