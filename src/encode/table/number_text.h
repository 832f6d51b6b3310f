#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace l0gm {

// How the numbers of a column are written:
//   0    plain, as parse_double() reads them
//   '.'  also with commas between groups of three digits: 1,234.5
//   ','  with a decimal comma, and points between such groups: 1.234,5
//   'd'  dates, 2024-01-31 or 2024/01/31, with or without a time, 13:45 or 13:45:59, after a blank or a T: days since 1970-01-01
constexpr char date_notation = 'd';

// The number in a cell, whole cell or nothing. Allocates nothing.
std::optional<double> parse_number(std::string_view text, char notation);

// A text that parse_number() reads back as the same number: the shortest, and of a date to the second.
std::string number_text(double value, char notation);

}  // namespace l0gm
