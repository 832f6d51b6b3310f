#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace l0gm {

// Whether so many different values among these cells name rows and do not describe them: ten or more, all different, or twenty or
// more, of which nineteen in twenty are different.
bool nearly_all_different(size_t different, size_t cells);

// Whether numbers of a column are identifiers: whole, nearly all different (of twenty or more), and either numbered through
// (their range is at most twice their number: drawn by chance, more of them would be equal), or with eight or more digits each,
// or under a name that ends in id, key, index or the like. `sorted`: ascending. A measurement is seldom any of these.
bool are_identifiers(std::string_view name, std::span<const double> sorted);

}  // namespace l0gm
