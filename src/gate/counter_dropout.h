#pragma once

#include "l0gm/hard_concrete.h"

namespace l0gm {

// Dropout: sets a share of the elements of x to 0 and scales up the others. Element (id, j) is dropped by the number that
// uniform_noise gives for it. The mask is not stored for the gradient but drawn again: for wide layers over a whole graph it
// would be as large as x.
torch::Tensor counter_dropout(const torch::Tensor& x, double share, const Draw& draw);
torch::Tensor counter_dropout(const torch::Tensor& x, double share, NoiseKey key, const torch::Tensor& ids);  // key: key_of(draw)

}  // namespace l0gm
