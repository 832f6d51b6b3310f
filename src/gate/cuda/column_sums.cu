#include "gate/cuda/column_sums.h"

namespace l0gm::cuda {

namespace {

constexpr int threads = 256, warp = 32;

// A block has 32 columns: each of its warps adds a run of rows, then the first one the sums of the warps.
__global__ void __launch_bounds__(threads) columns_kernel(const float* partial, int64_t rows, int64_t width, float* sums) {
  constexpr int warps = threads / warp, unrolled = 4;
  __shared__ float found[warps][warp];
  const int w = threadIdx.x / warp, lane = threadIdx.x % warp;
  const int64_t column = static_cast<int64_t>(blockIdx.x) * warp + lane;
  const int64_t run = (rows + warps - 1) / warps, end = min(rows, (w + 1) * run);
  float sum = 0;
  if (column < width) {
    for (int64_t i = w * run; i < end; i += unrolled) {
      float values[unrolled];
#pragma unroll
      for (int k = 0; k < unrolled; ++k) values[k] = i + k < end ? partial[(i + k) * width + column] : 0.0F;
#pragma unroll
      for (int k = 0; k < unrolled; ++k) sum += values[k];
    }
  }
  found[w][lane] = sum;
  __syncthreads();
  if (w != 0 || column >= width) return;
  for (int other = 1; other < warps; ++other) sum += found[other][lane];
  sums[column] = sum;
}

}  // namespace

void sum_columns(const float* partial, int64_t rows, int64_t width, float* sums, cudaStream_t stream) {
  if (width == 0) return;
  const dim3 blocks(static_cast<unsigned>((width + warp - 1) / warp));
  columns_kernel<<<blocks, threads, 0, stream>>>(partial, rows, width, sums);
}

}  // namespace l0gm::cuda
