#pragma once

#include <ATen/cuda/CUDAContext.h>

namespace l0gm::cuda {

// The stream that torch's own kernels run on, so that ours keep their place among them.
inline cudaStream_t current_stream(int64_t device) { return at::cuda::getCurrentCUDAStream(static_cast<c10::DeviceIndex>(device)).stream(); }

}  // namespace l0gm::cuda
