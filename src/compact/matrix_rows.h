#pragma once

#include <torch/types.h>

#include "runtime/table_net.h"

namespace l0gm {

// Rows of a tensor, in double precision, into the first columns of those of a matrix from `first_row` on.
void copy_rows(const torch::Tensor& from, Matrix& to, int64_t first_row);

}  // namespace l0gm
