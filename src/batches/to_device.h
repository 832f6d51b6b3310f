#pragma once

#include <torch/types.h>

namespace l0gm {

// An array of the host as a tensor on a device, in the type wanted there. For a CUDA device it goes through page-locked memory:
// the copy is queued behind the device's other work and the caller goes on. The page-locked part is torch's, which reuses it
// only once the copy is done. On the CPU the result may share the memory of `host`, and does where the type is the same.
//   batch.ids = to_device(at::from_blob(nodes.data(), {count}, torch::kInt64), device, torch::kInt64);
torch::Tensor to_device(const torch::Tensor& host, torch::Device device, torch::Dtype dtype);

}  // namespace l0gm
