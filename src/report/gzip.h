#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace l0gm {

// As a gzip file would hold it; none where the build has no zlib.
std::optional<std::string> gzip(std::string_view bytes);

}  // namespace l0gm
