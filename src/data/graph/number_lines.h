#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace l0gm {

// A line of numbers separated by commas, blanks around them allowed. False if a cell is not a finite number; `column` (from 0) is
// then that cell.
bool parse_numbers(std::string_view line, std::vector<float>& numbers, size_t& column);
bool parse_pair(std::string_view line, int64_t& first, int64_t& second);

}  // namespace l0gm
