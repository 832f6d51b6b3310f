#pragma once

#include <torch/types.h>

namespace l0gm {

// rows[index]. The gradient on a CUDA device is summed in a fixed order and never waits for the device.
torch::Tensor gather_rows(const torch::Tensor& rows, const torch::Tensor& index);

}  // namespace l0gm
