#pragma once

#include <string>
#include <string_view>

namespace l0gm {

// Headers for a page that is one file: the browser runs its one script and its one style sheet, known by their hashes, and
// nothing that got into it by another way; it asks this server and no other.
std::string page_headers(std::string_view page);

}  // namespace l0gm
