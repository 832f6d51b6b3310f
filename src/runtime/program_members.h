#pragma once

#include <cstddef>

#include "runtime/program_plan.h"

namespace l0gm {

// Batch ensemble: adds what the layers of every member say to out, [rows, logits]. The workspace holds the block's units
// (layout.shared) and, where tables are folded, its sums.
void add_members(const TableNet<PackedRows>& net, const ProgramPlan& plan, std::byte* workspace, int64_t rows, float* out);

}  // namespace l0gm
