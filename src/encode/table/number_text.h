#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace l0gm {

// The number in a cell, whole cell or nothing. `decimal`: 0 a plain number (parse_double); '.' or ',' also groups of three digits
// with the other of the two between them: 1,234.5 with '.', 1.234,5 with ','. Allocates nothing.
std::optional<double> parse_number(std::string_view text, char decimal);

// The shortest text that parse_number() reads back as the same number.
std::string number_text(double value, char decimal);

}  // namespace l0gm
