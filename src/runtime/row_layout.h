#pragma once

#include <span>
#include <string>
#include <vector>

#include "l0gm/runtime.h"

// What serving a file asks of callers, whatever kind of model is in it.
namespace l0gm {

// Where a model's columns are among these names. UserError if one is not there, or several times.
RowLayout layout_of(std::span<const std::string> columns, std::span<const std::string> names);
// UserError unless the layout was made for so many columns and stays within the row.
void check_layout(const RowLayout& layout, size_t columns);
int checked_threads(int threads);  // of a call; UserError unless there are 1 to 1024

}  // namespace l0gm
