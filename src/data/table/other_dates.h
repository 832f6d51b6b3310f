#pragma once

#include <span>
#include <string_view>

namespace l0gm {

// Whether these cells, all of them, are dates in a notation that is not read as days: 31.01.2024, 1/31/24, with or without a time
// behind them. Only 2024-01-31 tells day and month apart whoever wrote it.
bool are_other_dates(std::span<const std::string_view> cells);

}  // namespace l0gm
