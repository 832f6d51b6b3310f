#include "report/plotly_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>

#include "base/base64.h"
#include "base/files.h"
#include "l0gm/error.h"
#include "report/gzip.h"

#ifndef L0GM_VENV
#define L0GM_VENV ""
#endif

namespace l0gm {

namespace fs = std::filesystem;

namespace {

constexpr const char* advice = "scripts/setup installs the wheel; --plotly or L0GM_PLOTLY names another plotly.min.js";

// VENV/lib/python3.N/site-packages/plotly/package_data/plotly.min.js; empty: not there.
fs::path in_environment(const fs::path& venv) {
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(venv / "lib", error)) {
    const fs::path file = entry.path() / "site-packages" / "plotly" / "package_data" / "plotly.min.js";
    if (entry.path().filename().string().starts_with("python") && fs::is_regular_file(file, error)) return file;
  }
  return {};
}

// "3.4.0" of the comment that the script starts with.
std::string version_in(std::string_view text) {
  const std::string_view start = text.substr(0, 400);
  const size_t place = start.find("plotly.js v");
  if (place == start.npos) return "";
  const std::string_view rest = start.substr(place + 11);
  const auto end = std::find_if(rest.begin(), rest.end(), [](unsigned char c) { return std::isdigit(c) == 0 && c != '.'; });
  return {rest.begin(), end};
}

}  // namespace

PlotlyScript find_plotly(const std::string& named) {
  PlotlyScript script;
  if (named == "none") return script;
  const char* variable = std::getenv("L0GM_PLOTLY");
  const bool by_name = !named.empty() || (variable != nullptr && *variable != '\0');
  const fs::path file = !named.empty() ? fs::path(named) : by_name ? fs::path(variable) : in_environment(L0GM_VENV);
  if (by_name && !fs::is_regular_file(file)) {
    throw UserError(fmt::format("{} names {}, which is not a file. Give plotly.min.js out of the plotly wheel, or leave it out.",
                                named.empty() ? "L0GM_PLOTLY" : "--plotly", file.string()));
  }
  if (file.empty()) {
    script.why = fmt::format("Figures are plain drawings: plotly.js was not found ({}).", advice);
    return script;
  }
  const std::string text = read_file(file);
  script.version = version_in(text);
  if (script.version.empty()) {
    if (by_name)
      throw UserError(fmt::format("{} does not start as plotly.js does. Give plotly.min.js of the plotly wheel.", file.string()));
    script.why = fmt::format("Figures are plain drawings: what lies where plotly.js should is something else ({}).", advice);
    return script;
  }
  const std::optional<std::string> packed = gzip(text);
  if (!packed) {
    script.why = "Figures are plain drawings: this program was built without zlib, with which plotly.js is packed.";
    return script;
  }
  script.packed = base64(*packed);
  script.sha256_base64 = base64_sha256(text);
  return script;
}

}  // namespace l0gm
