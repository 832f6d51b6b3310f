#include "runtime/row_layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "base/text.h"
#include "l0gm/error.h"

namespace l0gm {

RowLayout layout_of(std::span<const std::string> columns, std::span<const std::string> names) {
  std::unordered_map<std::string_view, int32_t> positions;
  std::unordered_map<std::string_view, int> times;
  for (size_t i = 0; i < names.size(); ++i) {
    positions.emplace(names[i], static_cast<int32_t>(i));
    ++times[names[i]];
  }
  RowLayout layout;
  layout.width = static_cast<int64_t>(names.size());
  std::vector<std::string> absent;
  for (const std::string& column : columns) {
    const auto found = positions.find(column);
    if (found == positions.end()) {
      absent.push_back(fmt::format("'{}'.{}", column, did_you_mean(column, names)));
    } else if (times.at(column) > 1) {
      throw UserError(fmt::format("column '{}' is given {} times; give every column that the model reads exactly once", column,
                                  times.at(column)));
    } else {
      layout.positions.push_back(found->second);
    }
  }
  if (absent.empty()) return layout;
  const std::span<const std::string> first = std::span(absent).first(std::min<size_t>(absent.size(), 12));
  throw UserError(
      fmt::format("{} of the {} columns that the model reads are not among the {} given: {} Add them; a cell may be empty where "
                  "the value is missing.",
                  absent.size(), columns.size(), names.size(), join(first, " ")));
}

void check_layout(const RowLayout& layout, size_t columns) {
  bool inside = layout.positions.size() == columns;
  for (const int32_t position : layout.positions) inside = inside && position >= 0 && position < layout.width;
  if (!inside) {
    throw UserError(fmt::format(
        "the layout has {} positions in rows of {} cells and does not fit the model's {} columns; make it with layout()",
        layout.positions.size(), layout.width, columns));
  }
}

int checked_threads(int threads) {
  constexpr int most_threads = 1024;
  if (threads >= 1 && threads <= most_threads) return threads;
  throw UserError(fmt::format("a call cannot use {} threads; choose 1 to {}", threads, most_threads));
}

}  // namespace l0gm
