#include "batches/to_device.h"

#include <ATen/Functions.h>

namespace l0gm {

namespace {
constexpr size_t most_locked_bytes = size_t{1} << 26;  // torch keeps what it locked: a whole graph is copied as it lies
}

torch::Tensor to_device(const torch::Tensor& host, torch::Device device, torch::Dtype dtype) {
  if (!device.is_cuda()) return host.to(device, dtype);
  if (host.numel() == 0 || host.nbytes() > most_locked_bytes) return host.to(device).to(dtype);
  const torch::Tensor locked = at::empty(host.sizes(), host.options().pinned_memory(true));
  locked.copy_(host);
  return locked.to(device, /*non_blocking=*/true).to(dtype);  // widened there: fewer bytes are copied
}

}  // namespace l0gm
