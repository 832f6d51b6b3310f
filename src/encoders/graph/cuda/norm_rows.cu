#include "base/philox.h"
#include "encoders/graph/cuda/norm_rows.h"
#include "gate/cuda/column_sums.h"

namespace l0gm::cuda {

namespace {

constexpr int threads = 256, lanes = 32, step = 4 * lanes, warps = threads / lanes;
constexpr int64_t most_blocks = 512;  // of the backward pass: a constant, so that sums do not depend on the device

__device__ __forceinline__ float over_lanes(float sum) {
  for (int distance = lanes / 2; distance > 0; distance /= 2) sum += __shfl_xor_sync(0xFFFFFFFFU, sum, distance);
  return sum;
}

__device__ __forceinline__ float4 four(const float* from) { return __ldg(reinterpret_cast<const float4*>(from)); }
__device__ __forceinline__ float sum_of(const float4& v) { return (v.x + v.y) + (v.z + v.w); }
__device__ __forceinline__ float4 times(const float4& a, const float4& b) { return {a.x * b.x, a.y * b.y, a.z * b.z, a.w * b.w}; }
__device__ __forceinline__ float4 plus(const float4& a, const float4& b) { return {a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w}; }
// a + b times c
__device__ __forceinline__ float4 plus(const float4& a, float b, const float4& c) {
  return {fmaf(b, c.x, a.x), fmaf(b, c.y, a.y), fmaf(b, c.z, a.z), fmaf(b, c.w, a.w)};
}

// What dropout multiplies four neighbouring channels by.
__device__ __forceinline__ float4 mask_of(const DeviceRowNorm& s, int64_t row, int64_t channel) {
  if (s.share <= 0.0F) return {1, 1, 1, 1};
  const uint64_t key =
      s.key.live != nullptr ? __ldg(reinterpret_cast<const unsigned long long*>(s.key.live)) : s.key.value;
  const PhiloxWords words = philox_of_row(key, static_cast<uint64_t>(__ldg(s.ids + row)), static_cast<uint32_t>(channel / 4));
  const float kept = 1.0F / (1.0F - s.share);
  const auto factor = [&](uint32_t bits) { return uniform_of_bits(bits) >= s.share ? kept : 0.0F; };
  return {factor(words.c0), factor(words.c1), factor(words.c2), factor(words.c3)};
}

// A warp holds a row, `parts` times four neighbouring channels in each of its threads.
template <int parts>
__global__ void __launch_bounds__(threads) forward_kernel(DeviceRowNorm s, float* y, float* means, float* scales) {
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
    sum += sum_of(values[p]);
  }
  const float mean = over_lanes(sum) / channels;
  float squares = 0;
#pragma unroll
  for (int p = 0; p < parts; ++p) {
    if (first + p * step >= s.width) continue;
    values[p] = plus(values[p], -mean, {1, 1, 1, 1});
    squares += sum_of(times(values[p], values[p]));
  }
  const float scale = rsqrtf(over_lanes(squares) / channels + s.epsilon);
  if (means && threadIdx.x % lanes == 0) means[row] = mean, scales[row] = scale;
#pragma unroll
  for (int p = 0; p < parts; ++p) {
    const int64_t channel = first + p * step;
    if (channel >= s.width) continue;
    const float4 v = values[p], w = four(s.weight + channel), b = four(s.bias + channel), mask = mask_of(s, row, channel);
    const auto out = [scale](float value, float factor, float offset, float kept) {
      return fmaxf(fmaf(value * scale, factor, offset), 0.0F) * kept;
    };
    *reinterpret_cast<float4*>(y + row * s.width + channel) = {out(v.x, w.x, b.x, mask.x), out(v.y, w.y, b.y, mask.y),
                                                               out(v.z, w.z, b.z, mask.z), out(v.w, w.w, b.w, mask.w)};
  }
}

// Each warp goes over some of the rows and keeps its sums for weight and bias; the block adds those of its warps in order.
template <int parts>
__global__ void __launch_bounds__(threads)
    backward_kernel(DeviceRowNorm s, const float* means, const float* scales, const float* of_y, float* of_x, float* partial) {
  extern __shared__ float sums[];  // [2, width]: of the weight, of the bias
  const int64_t first = threadIdx.x % lanes * 4, stride = static_cast<int64_t>(gridDim.x) * warps;
  const float share = 1.0F / static_cast<float>(s.width);
  float4 of_weight[parts] = {}, of_bias[parts] = {};
  for (int64_t row = static_cast<int64_t>(blockIdx.x) * warps + threadIdx.x / lanes; row < s.rows; row += stride) {
    const float mean = __ldg(means + row), scale = __ldg(scales + row);
    float4 normed[parts], given[parts];
    float sum = 0, product = 0;
#pragma unroll
    for (int p = 0; p < parts; ++p) {
      const int64_t channel = first + p * step, at = row * s.width + channel;
      normed[p] = given[p] = {0, 0, 0, 0};
      if (channel >= s.width) continue;
      const float4 v = plus(four(s.x + at), -mean, {1, 1, 1, 1}), w = four(s.weight + channel), b = four(s.bias + channel);
      const float4 g = times(four(of_y + at), mask_of(s, row, channel));
      normed[p] = {v.x * scale, v.y * scale, v.z * scale, v.w * scale};
      const auto passed = [](float n, float factor, float offset, float gradient) {
        return fmaf(n, factor, offset) > 0.0F ? gradient : 0.0F;
      };
      const float4 d = {passed(normed[p].x, w.x, b.x, g.x), passed(normed[p].y, w.y, b.y, g.y),
                        passed(normed[p].z, w.z, b.z, g.z), passed(normed[p].w, w.w, b.w, g.w)};
      of_weight[p] = plus(of_weight[p], times(d, normed[p]));
      of_bias[p] = plus(of_bias[p], d);
      given[p] = times(d, w);
      sum += sum_of(given[p]);
      product += sum_of(times(given[p], normed[p]));
    }
    if (of_x == nullptr) continue;
    const float mean_given = over_lanes(sum) * share, mean_product = over_lanes(product) * share;
#pragma unroll
    for (int p = 0; p < parts; ++p) {
      const int64_t channel = first + p * step;
      if (channel >= s.width) continue;
      const float4 d = plus(plus(given[p], -mean_given, {1, 1, 1, 1}), -mean_product, normed[p]);
      *reinterpret_cast<float4*>(of_x + row * s.width + channel) = {scale * d.x, scale * d.y, scale * d.z, scale * d.w};
    }
  }
  for (int w = 0; w < warps; ++w) {
    if (static_cast<int>(threadIdx.x) / lanes == w) {
#pragma unroll
      for (int p = 0; p < parts; ++p) {
        const int64_t channel = first + p * step;
        if (channel >= s.width) continue;
        auto* weight = reinterpret_cast<float4*>(sums + channel);
        auto* bias = reinterpret_cast<float4*>(sums + s.width + channel);
        *weight = w == 0 ? of_weight[p] : plus(*weight, of_weight[p]);
        *bias = w == 0 ? of_bias[p] : plus(*bias, of_bias[p]);
      }
    }
    __syncthreads();
  }
  for (int64_t i = threadIdx.x; i < 2 * s.width; i += threads) partial[blockIdx.x * 2 * s.width + i] = sums[i];
}

int64_t backward_blocks(const DeviceRowNorm& norm) {
  const int64_t needed = (norm.rows + warps - 1) / warps;
  return needed < most_blocks ? needed : most_blocks;
}

template <int parts>
void launch(const DeviceRowNorm& norm, float* y, float* mean, float* scale, cudaStream_t stream) {
  const int64_t blocks = (norm.rows * lanes + threads - 1) / threads;
  forward_kernel<parts><<<static_cast<unsigned>(blocks), threads, 0, stream>>>(norm, y, mean, scale);
}

template <int parts>
void launch_backward(const DeviceRowNorm& norm, const float* mean, const float* scale, const float* of_y, float* of_x,
                     float* partial, cudaStream_t stream) {
  const auto shared = static_cast<size_t>(2 * norm.width) * sizeof(float);
  const auto blocks = static_cast<unsigned>(backward_blocks(norm));
  backward_kernel<parts><<<blocks, threads, shared, stream>>>(norm, mean, scale, of_y, of_x, partial);
}

}  // namespace

bool can_norm_rows(int64_t width) { return width % 4 == 0 && width <= 8 * step; }

void norm_rows(const DeviceRowNorm& norm, float* y, float* mean, float* scale, cudaStream_t stream) {
  if (norm.rows == 0 || norm.width == 0) return;
  if (norm.width <= step) return launch<1>(norm, y, mean, scale, stream);
  if (norm.width <= 2 * step) return launch<2>(norm, y, mean, scale, stream);
  if (norm.width <= 4 * step) return launch<4>(norm, y, mean, scale, stream);
  launch<8>(norm, y, mean, scale, stream);
}

int64_t norm_partial_sums(const DeviceRowNorm& norm) { return backward_blocks(norm) * 2 * norm.width; }

void norm_rows_backward(const DeviceRowNorm& norm, const float* mean, const float* scale, const float* of_y, float* of_x,
                        float* of_weight_and_bias, float* partial, cudaStream_t stream) {
  if (norm.rows == 0 || norm.width == 0) return;
  const auto backward = norm.width <= step       ? launch_backward<1>
                        : norm.width <= 2 * step ? launch_backward<2>
                        : norm.width <= 4 * step ? launch_backward<4>
                                                 : launch_backward<8>;
  backward(norm, mean, scale, of_y, of_x, partial, stream);
  sum_columns(partial, backward_blocks(norm), 2 * norm.width, of_weight_and_bias, stream);
}

}  // namespace l0gm::cuda
