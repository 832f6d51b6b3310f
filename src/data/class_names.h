#pragma once

#include <string>
#include <vector>

namespace l0gm {

// In numeric order when all are numbers, else in the order of their text: whichever row comes first, a class has the same number.
void sort_class_names(std::vector<std::string>& names);

}  // namespace l0gm
