#pragma once

#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAException.h>

namespace l0gm::cuda {

// The stream that torch's kernels run on, so that kernels of l0gm run in order with them.
inline cudaStream_t current_stream(int64_t device) {
  return at::cuda::getCurrentCUDAStream(static_cast<c10::DeviceIndex>(device)).stream();
}

// Call after launching a kernel: reports a failed launch here instead of at some later call.
inline void check_launch() { C10_CUDA_KERNEL_LAUNCH_CHECK(); }

}  // namespace l0gm::cuda
