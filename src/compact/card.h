#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace l0gm {

// The parts of a card that are alike for every modality; `rows` and `columns` are what it calls them.
namespace card {
std::string count(const nlohmann::json& object, const char* key);  // a whole number, for people
// A name as a table cell of Markdown: what comes from a file must not end the cell or the line.
std::string cell(const std::string& text);
std::string figures(const nlohmann::json& about, bool binary, const std::string& rows);
std::string calibration(const nlohmann::json& about, const std::string& rows);
std::string gate(const nlohmann::json& about, const std::string& columns, bool folded);
std::string parity(const nlohmann::json& about, const std::string& rows);  // `rows`: over which it was proven
}  // namespace card

}  // namespace l0gm
