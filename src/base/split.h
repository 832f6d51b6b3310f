#pragma once

#include "l0gm/options.h"

namespace l0gm {

// The parts of a dataset. Training rows fit weights, validation rows choose among them, test rows are for reporting alone.
enum class Split { train, valid, test };
template <>
inline constexpr auto enum_names<Split> = std::to_array<std::string_view>({"train", "valid", "test"});

}  // namespace l0gm
