#pragma once

#include "l0gm/hard_concrete.h"

namespace l0gm {

// x with a share of its elements 0 and the others scaled up; element (id, j) of row id by the draw's numbers, as uniform_noise
// gives them. The mask is not kept for the gradient but drawn again: for wide layers over a whole graph it would be as large as
// what it masks.
torch::Tensor counter_dropout(const torch::Tensor& x, double share, const Draw& draw);

}  // namespace l0gm
