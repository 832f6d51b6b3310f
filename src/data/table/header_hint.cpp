#include "data/table/header_hint.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace l0gm {
namespace {

// Whether the header holds the wanted name, or several names, when it is split at `separator`.
bool splits_at(const std::string& header, char separator, std::string_view wanted, bool one_name) {
  size_t parts = 1;
  for (size_t begin = 0;; ++parts) {
    const size_t end = std::min(header.find(separator, begin), header.size());
    std::string_view part = trim(std::string_view(header).substr(begin, end - begin));
    if (part.size() > 1 && part.front() == '"' && part.back() == '"') part = part.substr(1, part.size() - 2);
    if (parts > 1 || end < header.size()) {
      if (!wanted.empty() && part == wanted) return true;
    }
    if (end == header.size()) break;
    begin = end + 1;
  }
  return one_name && parts > 1;
}

}  // namespace

std::string header_hint(const std::vector<std::string>& names, char delimiter, std::string_view wanted,
                        const HeaderWords& words) {
  const std::string header = join(names, std::string(1, delimiter));
  for (const char other : {';', '\t', '|', ','}) {
    if (other == delimiter || !splits_at(header, other, wanted, names.size() == 1)) continue;
    const std::string spelled = other == '\t' ? "\\t" : std::string(1, other);
    return fmt::format(" Its first line is separated by '{}': set {}.", spelled,
                       fmt::format(fmt::runtime(words.delimiter), spelled));
  }
  const auto numbers =
      std::count_if(names.begin(), names.end(), [](const std::string& name) { return parse_double(name).has_value(); });
  if (2 * numbers < std::ssize(names)) return "";
  constexpr std::string_view found = " Its first line, line 1, looks like a row and not like a header:";
  if (words.no_header.empty()) return fmt::format("{} put a line with the names of its columns above it.", found);
  return fmt::format("{} set {}, and columns are column_1, column_2, ….", found, words.no_header);
}

}  // namespace l0gm
