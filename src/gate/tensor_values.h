#pragma once

#include <torch/types.h>

#include <vector>

namespace l0gm {

// The numbers of a tensor on the host; waits for the device where there is one.
inline std::vector<double> to_doubles(const torch::Tensor& tensor) {
  const torch::Tensor values = tensor.detach().to(torch::kCPU, torch::kFloat64).contiguous();
  return {values.data_ptr<double>(), values.data_ptr<double>() + values.numel()};
}

}  // namespace l0gm
