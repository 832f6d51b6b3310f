#include "encoders/graph/cuda/norm_rows.h"

namespace l0gm::cuda {

namespace {

constexpr int threads = 256, lanes = 32, step = 4 * lanes;

__device__ __forceinline__ float over_lanes(float sum) {
  for (int distance = lanes / 2; distance > 0; distance /= 2) sum += __shfl_xor_sync(0xFFFFFFFFU, sum, distance);
  return sum;
}

// A warp holds a row, `parts` times four neighbouring channels in each of its threads.
template <int parts>
__global__ void __launch_bounds__(threads) norm_rows_kernel(DeviceRowNorm s) {
  const int64_t row = (static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x) / lanes;
  if (row >= s.rows) return;
  const int64_t first = threadIdx.x % lanes * 4;
  const float channels = static_cast<float>(s.width);
  float4 values[parts];
  float sum = 0;
#pragma unroll
  for (int p = 0; p < parts; ++p) {
    const int64_t channel = first + p * step;
    values[p] = channel < s.width ? __ldcs(reinterpret_cast<const float4*>(s.x + row * s.width + channel)) : float4{0, 0, 0, 0};
    sum += values[p].x + values[p].y + values[p].z + values[p].w;
  }
  const float mean = over_lanes(sum) / channels;
  float squares = 0;
#pragma unroll
  for (int p = 0; p < parts; ++p) {
    if (first + p * step >= s.width) continue;
    float4& v = values[p];
    v.x -= mean, v.y -= mean, v.z -= mean, v.w -= mean;
    squares += v.x * v.x + v.y * v.y + v.z * v.z + v.w * v.w;
  }
  const float scale = rsqrtf(over_lanes(squares) / channels + s.epsilon);
#pragma unroll
  for (int p = 0; p < parts; ++p) {
    const int64_t channel = first + p * step;
    if (channel >= s.width) continue;
    const float4 v = values[p], w = __ldg(reinterpret_cast<const float4*>(s.weight + channel)),
                 b = __ldg(reinterpret_cast<const float4*>(s.bias + channel));
    const auto out = [scale](float value, float times, float plus) { return fmaxf(fmaf(value * scale, times, plus), 0.0F); };
    *reinterpret_cast<float4*>(s.y + row * s.width + channel) = {out(v.x, w.x, b.x), out(v.y, w.y, b.y), out(v.z, w.z, b.z),
                                                                 out(v.w, w.w, b.w)};
  }
}

template <int parts>
void launch(const DeviceRowNorm& norm, cudaStream_t stream) {
  const int64_t blocks = (norm.rows * lanes + threads - 1) / threads;
  norm_rows_kernel<parts><<<static_cast<unsigned>(blocks), threads, 0, stream>>>(norm);
}

}  // namespace

bool can_norm_rows(int64_t width) { return width % 4 == 0 && width <= 8 * step; }

void norm_rows(const DeviceRowNorm& norm, cudaStream_t stream) {
  if (norm.rows == 0 || norm.width == 0) return;
  if (norm.width <= step) return launch<1>(norm, stream);
  if (norm.width <= 2 * step) return launch<2>(norm, stream);
  if (norm.width <= 4 * step) return launch<4>(norm, stream);
  launch<8>(norm, stream);
}

}  // namespace l0gm::cuda
