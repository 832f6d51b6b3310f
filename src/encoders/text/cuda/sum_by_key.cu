#include "encoders/text/cuda/sum_by_key.h"

namespace l0gm::cuda {

namespace {

constexpr int threads = 128, ahead = 8;

// Where a key begins, threads go through its rows, one column each; several loads are under way at a time.
__global__ void __launch_bounds__(threads)
    sum_kernel(const int64_t* keys, const int64_t* order, int64_t count, const float* rows, int64_t width, float* out) {
  const int64_t begin = blockIdx.x, key = keys[begin];
  if (begin > 0 && keys[begin - 1] == key) return;
  const int64_t column = static_cast<int64_t>(blockIdx.y) * threads + threadIdx.x;
  if (column >= width) return;
  float sum = 0;
  int64_t i = begin;
  while (i < count && keys[i] == key) {
    float values[ahead];
#pragma unroll
    for (int j = 0; j < ahead; ++j) values[j] = i + j < count && keys[i + j] == key ? rows[order[i + j] * width + column] : 0.0F;
#pragma unroll
    for (int j = 0; j < ahead; ++j) sum += values[j];
    i += ahead;
  }
  out[key * width + column] = sum;
}

}  // namespace

void sum_by_key(const int64_t* keys, const int64_t* order, int64_t count, const float* rows, int64_t width, float* out,
                cudaStream_t stream) {
  if (count == 0 || width == 0) return;
  const dim3 grid(static_cast<unsigned>(count), static_cast<unsigned>((width + threads - 1) / threads));
  sum_kernel<<<grid, threads, 0, stream>>>(keys, order, count, rows, width, out);
}

}  // namespace l0gm::cuda
