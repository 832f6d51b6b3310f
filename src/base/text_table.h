#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/row_places.h"

namespace l0gm {

// A table of text cells, as read: one arena, cells in row-major order. Nothing is interpreted here.
class TextTable {
 public:
  TextTable() = default;
  explicit TextTable(std::vector<std::string> names) : names_(std::move(names)) {}

  const std::vector<std::string>& names() const { return names_; }
  int64_t rows() const { return names_.empty() ? 0 : static_cast<int64_t>(ends_.size() / names_.size()); }
  int64_t columns() const { return static_cast<int64_t>(names_.size()); }
  std::string_view cell(int64_t row, int64_t column) const {
    const size_t i = static_cast<size_t>(row) * names_.size() + static_cast<size_t>(column);
    const uint64_t begin = i == 0 ? 0 : ends_[i - 1];
    return {arena_.data() + begin, static_cast<size_t>(ends_[i] - begin)};
  }
  void add_row(const std::vector<std::string_view>& cells);  // as many as names()
  int64_t column(std::string_view name) const;               // -1 when absent
  RowPlaces places;                                          // where rows were read; empty unless a reader fills it

 private:
  std::vector<std::string> names_;
  std::string arena_;
  std::vector<uint64_t> ends_;
};

}  // namespace l0gm
