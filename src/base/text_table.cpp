#include "base/text_table.h"

#include <cstring>
#include <stdexcept>

namespace l0gm {

void TextTable::add_row(const std::vector<std::string_view>& cells) {
  if (cells.size() != names_.size()) throw std::logic_error("TextTable::add_row: wrong number of cells");
  size_t bytes = 0;
  for (const std::string_view cell : cells) bytes += cell.size();
  size_t at = arena_.size();
  arena_.resize(at + bytes);  // once per row: an append per cell costs more than the copying itself
  for (const std::string_view cell : cells) {
    if (!cell.empty()) std::memcpy(arena_.data() + at, cell.data(), cell.size());
    at += cell.size();
    ends_.push_back(at);
  }
}

int64_t TextTable::column(std::string_view name) const {
  for (size_t i = 0; i < names_.size(); ++i) {
    if (names_[i] == name) return static_cast<int64_t>(i);
  }
  return -1;
}

}  // namespace l0gm
