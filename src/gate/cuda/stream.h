#pragma once

#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAException.h>

namespace l0gm::cuda {

// The stream that torch's own kernels run on, so that ours keep their place among them.
inline cudaStream_t current_stream(int64_t device) {
  return at::cuda::getCurrentCUDAStream(static_cast<c10::DeviceIndex>(device)).stream();
}

// Called behind a kernel of ours: one that could not be started says so here, and not at some later call.
inline void check_launch() { C10_CUDA_KERNEL_LAUNCH_CHECK(); }

}  // namespace l0gm::cuda
