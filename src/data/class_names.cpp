#include "data/class_names.h"

#include <algorithm>
#include <cmath>

#include "base/text.h"

namespace l0gm {

void sort_class_names(std::vector<std::string>& names) {
  std::sort(names.begin(), names.end());
  const bool numbers = std::all_of(names.begin(), names.end(), [](const std::string& name) {
    const auto value = parse_double(name);
    return value && !std::isnan(*value);
  });
  if (!numbers) return;
  std::stable_sort(names.begin(), names.end(),
                   [](const std::string& a, const std::string& b) { return *parse_double(a) < *parse_double(b); });
}

}  // namespace l0gm
