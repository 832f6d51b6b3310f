#include "base/row_places.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace l0gm {

void RowPlaces::begin_file(std::string file) { files_.push_back(std::move(file)); }

void RowPlaces::add(int64_t row, int64_t line) {
  const size_t file = files_.size() - 1;
  const bool follows = !starts_.empty() && starts_.back().file == file && line - starts_.back().line == row - starts_.back().row;
  if (!follows) starts_.push_back({row, line, file});
}

std::string RowPlaces::of(int64_t row) const {
  const auto after = std::upper_bound(starts_.begin(), starts_.end(), row,
                                      [](int64_t wanted, const Start& start) { return wanted < start.row; });
  if (after == starts_.begin()) return fmt::format("data row {}", row + 1);
  const Start& start = *(after - 1);
  return fmt::format("{}: line {}", files_[start.file], start.line + row - start.row);
}

}  // namespace l0gm
