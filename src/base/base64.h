#pragma once

#include <string>
#include <string_view>

namespace l0gm {

std::string base64(std::string_view bytes);  // with padding
// The SHA-256 of a script or style, as a Content-Security-Policy names it: 'sha256-' + base64_sha256(text).
std::string base64_sha256(std::string_view text);

}  // namespace l0gm
