#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>

namespace l0gm {

// A TOML file that is no configuration, as JSON. UserError where it is missing, is no TOML, or has dates or times.
nlohmann::json read_toml_as_json(const std::filesystem::path& path);

}  // namespace l0gm
