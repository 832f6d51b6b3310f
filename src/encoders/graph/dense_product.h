#pragma once

#include <torch/types.h>

#include "encoders/matmul.h"

namespace l0gm {

// a b, plus `onto` (rows, or one row for all) where it is given; its sums and the result have the type of a. Differentiable; the
// backward pass multiplies in the same precision.
torch::Tensor dense_product(const torch::Tensor& a, const torch::Tensor& b, Matmul precision, const torch::Tensor& onto = {});

}  // namespace l0gm
