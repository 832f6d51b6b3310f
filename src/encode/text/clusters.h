#pragma once

#include <cstddef>
#include <string_view>

namespace l0gm {

// End of the extended grapheme cluster that begins at `begin` of a valid UTF-8 text.
size_t cluster_end(std::string_view text, size_t begin);

}  // namespace l0gm
