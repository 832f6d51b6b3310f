#include "base/philox.h"
#include "gate/cuda/noise.h"

namespace l0gm::cuda {

namespace {

constexpr int threads = 256;

// Four neighbouring elements of a row at a time: one call of the generator gives four numbers.
template <class Use>
__global__ void for_each_number(NoiseKey of_step, const int64_t* ids, int64_t rows, int64_t width, Use use) {
  const uint64_t key = of_step.live != nullptr ? *of_step.live : of_step.value;
  const int64_t blocks_per_row = (width + 3) / 4;
  const int64_t step = static_cast<int64_t>(gridDim.x) * blockDim.x;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < rows * blocks_per_row; i += step) {
    const int64_t row = i / blocks_per_row, block = i - row * blocks_per_row;
    const PhiloxWords words = philox_of_row(key, static_cast<uint64_t>(ids[row]), static_cast<uint32_t>(block));
    const uint32_t bits[4] = {words.c0, words.c1, words.c2, words.c3};
    const int64_t begin = row * width + 4 * block;
    for (int j = 0; j < 4; ++j) {
      if (4 * block + j < width) use(begin + j, uniform_of_bits(bits[j]));
    }
  }
}

struct Store {
  float* out;
  __device__ void operator()(int64_t i, float u) const { out[i] = u; }
};

struct Mask {
  const float* x;
  float* out;
  float share, scale;
  __device__ void operator()(int64_t i, float u) const { out[i] = u >= share ? x[i] * scale : 0.0F; }
};

template <class Use>
void launch(NoiseKey key, const int64_t* ids, int64_t rows, int64_t width, Use use, cudaStream_t stream) {
  const int64_t blocks = (rows * ((width + 3) / 4) + threads - 1) / threads;
  if (blocks == 0) return;
  for_each_number<<<static_cast<unsigned>(blocks < (1 << 20) ? blocks : (1 << 20)), threads, 0, stream>>>(key, ids, rows, width,
                                                                                                          use);
}

}  // namespace

void fill_uniform(uint64_t key, const int64_t* ids, int64_t rows, int64_t width, float* out, cudaStream_t stream) {
  launch(key, ids, rows, width, Store{out}, stream);
}

void mask_rows(const float* x, const int64_t* ids, int64_t rows, int64_t width, NoiseKey key, float share, float scale,
               float* out, cudaStream_t stream) {
  launch(key, ids, rows, width, Mask{x, out, share, scale}, stream);
}

}  // namespace l0gm::cuda
