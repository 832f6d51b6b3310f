#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace l0gm {

// The model card of a text model's compact file. `about`: what the file says about itself.
// What is left of an encoder whose heads, neurons or layers were gated: a line.
std::string structure_of_card(const nlohmann::json& structure);
std::string text_card(const std::string& file, const nlohmann::json& about);

}  // namespace l0gm
