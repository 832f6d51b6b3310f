#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string_view>

namespace l0gm {

// What a study wrote about itself: FOLDER/NAME.md, with NAME.json beside it and the folder `cells`. [{name, parts}], empty where
// the folder is no study.
nlohmann::json study_tables(const std::filesystem::path& folder);

// Headings, prose and tables of a Markdown text: [{heading} | {text} | {head, rows}]. Emphasis is dropped, all else is text.
nlohmann::json markdown_parts(std::string_view text);

}  // namespace l0gm
