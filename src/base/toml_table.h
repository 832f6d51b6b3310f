#pragma once

#include <string>
#include <string_view>

#define TOML_EXCEPTIONS 1
#include <toml++/toml.h>

namespace l0gm {

// UserError that names the source, the line and the column where it is no TOML.
toml::table parse_toml(std::string_view text, const std::string& source);

}  // namespace l0gm
