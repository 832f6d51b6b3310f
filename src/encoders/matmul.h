#pragma once

#include "l0gm/options.h"

namespace l0gm {

// The precision of an encoder's dense matrix products; weights and everything else keep theirs. tf32: float32 whose products a
// GPU rounds to 10 bits of mantissa; elsewhere the same as float32.
enum class Matmul { float32, tf32, bfloat16 };
template <>
inline constexpr auto enum_names<Matmul> = std::to_array<std::string_view>({"float32", "tf32", "bfloat16"});

}  // namespace l0gm
