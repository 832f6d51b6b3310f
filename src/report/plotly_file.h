#pragma once

#include <filesystem>
#include <string>

namespace l0gm {

// Plotly's script as a page carries it: gzip in base64. Without it `packed` is empty and `why` says what is missing.
struct PlotlyScript {
  std::string packed, sha256_base64, version, why;
};

// Looked for in this order: `named` (the option --plotly; "none": no script is wanted), the environment variable L0GM_PLOTLY, the
// virtual environment that was known when this program was built (scripts/setup installs the wheel there).
// UserError when a file that was named is not there or is no plotly.js.
PlotlyScript find_plotly(const std::string& named);

}  // namespace l0gm
