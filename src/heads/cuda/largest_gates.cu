#include "heads/cuda/largest_gates.h"

namespace l0gm::cuda {

namespace {

constexpr int threads = 256;

// A thread has one source of one row.
__global__ void __launch_bounds__(threads) forward_kernel(DeviceSources s, const float* gates, float* largest) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * threads + threadIdx.x;
  if (i >= s.rows * s.sources) return;
  const int64_t row = i / s.sources, source = i - row * s.sources;
  float best = 0;
  for (int32_t j = s.offsets[source]; j < s.offsets[source + 1]; ++j) best = fmaxf(best, gates[row * s.width + s.dimensions[j]]);
  largest[i] = best;
}

__global__ void __launch_bounds__(threads)
    backward_kernel(DeviceSources s, const float* gates, const float* largest, const float* of_largest, float* of_gates) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * threads + threadIdx.x;
  if (i >= s.rows * s.sources) return;
  const int64_t row = i / s.sources, source = i - row * s.sources;
  const int32_t begin = s.offsets[source], end = s.offsets[source + 1];
  const float best = largest[i];
  float count = 0;
  for (int32_t j = begin; j < end; ++j) count += gates[row * s.width + s.dimensions[j]] == best ? 1.0F : 0.0F;
  const float share = of_largest[i] / count;
  for (int32_t j = begin; j < end; ++j) {
    const int64_t at = row * s.width + s.dimensions[j];
    of_gates[at] = gates[at] == best ? share : 0.0F;
  }
}

unsigned blocks_of(const DeviceSources& s) { return static_cast<unsigned>((s.rows * s.sources + threads - 1) / threads); }

}  // namespace

void largest_gates(const DeviceSources& where, const float* gates, float* largest, cudaStream_t stream) {
  if (where.rows * where.sources == 0) return;
  forward_kernel<<<blocks_of(where), threads, 0, stream>>>(where, gates, largest);
}

void largest_gates_backward(const DeviceSources& where, const float* gates, const float* largest, const float* of_largest,
                            float* of_gates, cudaStream_t stream) {
  if (where.rows * where.sources == 0) return;
  backward_kernel<<<blocks_of(where), threads, 0, stream>>>(where, gates, largest, of_largest, of_gates);
}

}  // namespace l0gm::cuda
