#include "encoders/graph/cuda/sum_rows.h"

namespace l0gm::cuda {

namespace {

constexpr int threads = 256;
constexpr int unrolled = 4;  // neighbours whose rows are loaded at the same time

// `count` neighbouring numbers of a row as floats.
template <int count>
__device__ __forceinline__ void load(const float* from, float (&to)[count]) {
  if constexpr (count == 4) {
    const float4 four = __ldg(reinterpret_cast<const float4*>(from));
    to[0] = four.x, to[1] = four.y, to[2] = four.z, to[3] = four.w;
  } else {
    to[0] = __ldg(from);
  }
}

template <int count>
__device__ __forceinline__ void load(const __nv_bfloat16* from, float (&to)[count]) {
  if constexpr (count == 4) {
    const uint2 four = __ldg(reinterpret_cast<const uint2*>(from));
    const float2 low = __bfloat1622float2(*reinterpret_cast<const __nv_bfloat162*>(&four.x));
    const float2 high = __bfloat1622float2(*reinterpret_cast<const __nv_bfloat162*>(&four.y));
    to[0] = low.x, to[1] = low.y, to[2] = high.x, to[3] = high.y;
  } else {
    to[0] = __bfloat162float(from[0]);
  }
}

// Stores `count` sums without caching them: the cache is for the rows that are gathered.
template <int count>
__device__ __forceinline__ void store(const float (&from)[count], float* to) {
  if constexpr (count == 4) {
    __stcs(reinterpret_cast<float4*>(to), float4{from[0], from[1], from[2], from[3]});
  } else {
    __stcs(to, from[0]);
  }
}

// A group of `lanes` threads sums one row, each of them `parts` times `count` neighbouring channels, `lanes * count` apart.
// `factors`: a neighbour's row has a factor, of its edge or of its source.
template <class Message, int lanes, int parts, int count, bool factors>
__global__ void __launch_bounds__(threads) sum_rows_kernel(DeviceRowSums<Message> s, int64_t first_channel) {
  const int lane = threadIdx.x % lanes;
  const int64_t row = (static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x) / lanes;
  if (row >= s.rows) return;
  const unsigned mask = lanes == 32 ? 0xFFFFFFFFU : ((1U << lanes) - 1) << (threadIdx.x % 32 / lanes * lanes);
  const int64_t channel = first_channel + lane * count;
  float sum[parts][count] = {};
  const int64_t begin = s.offsets[row], end = s.offsets[row + 1];
  for (int64_t edge = begin; edge < end; edge += lanes) {
    // Each thread of the group loads one neighbour's number and factor; the group then processes them together.
    const int64_t mine = edge + lane;
    int32_t neighbour = 0;
    float factor = 1;
    if (mine < end) {
      neighbour = __ldcs(s.neighbours + mine);
      if (factors && s.weights) factor = __ldcs(s.weights + mine);
      if (factors && s.source) factor *= __ldg(s.source + neighbour);
    }
    const int here = static_cast<int>(end - edge < lanes ? end - edge : lanes);
    for (int i = 0; i < here; i += unrolled) {
      float rows[unrolled][parts][count], times[unrolled];
#pragma unroll
      for (int k = 0; k < unrolled; ++k) {
        const int64_t u = __shfl_sync(mask, neighbour, i + k, lanes);
        if (factors) times[k] = __shfl_sync(mask, factor, i + k, lanes);
#pragma unroll
        for (int p = 0; p < parts; ++p) {
          const int64_t c = channel + static_cast<int64_t>(p) * lanes * count;
          if (i + k < here && c < s.width) {
            load<count>(s.x + u * s.width + c, rows[k][p]);
          } else {
#pragma unroll
            for (int j = 0; j < count; ++j) rows[k][p][j] = 0;
          }
        }
      }
#pragma unroll
      for (int k = 0; k < unrolled; ++k) {
#pragma unroll
        for (int p = 0; p < parts; ++p) {
#pragma unroll
          for (int j = 0; j < count; ++j)
            sum[p][j] = factors ? fmaf(times[k], rows[k][p][j], sum[p][j]) : sum[p][j] + rows[k][p][j];
        }
      }
    }
  }
  const float scale = s.target ? s.target[row] : 1.0F;
  const bool has_own = s.self && row < s.self_rows;
  const float self = has_own ? s.self[row] : 0.0F;
  const int64_t own = has_own && s.own ? s.own[row] : row;
#pragma unroll
  for (int p = 0; p < parts; ++p) {
    const int64_t c = channel + static_cast<int64_t>(p) * lanes * count;
    if (c >= s.width) continue;
    float own_row[count] = {}, result[count];
    if (has_own) load<count>(s.own_x + own * s.width + c, own_row);
#pragma unroll
    for (int j = 0; j < count; ++j) result[j] = fmaf(self, own_row[j], scale * sum[p][j]);
    store<count>(result, s.y + row * s.width + c);
  }
}

template <class Message, int lanes, int parts, int count>
void launch(const DeviceRowSums<Message>& sums, cudaStream_t stream) {
  const int64_t blocks = (sums.rows * lanes + threads - 1) / threads;
  const auto kernel = sums.weights || sums.source ? sum_rows_kernel<Message, lanes, parts, count, true>
                                                  : sum_rows_kernel<Message, lanes, parts, count, false>;
  for (int64_t channel = 0; channel < sums.width; channel += static_cast<int64_t>(lanes) * parts * count) {
    kernel<<<static_cast<unsigned>(blocks), threads, 0, stream>>>(sums, channel);
  }
}

}  // namespace

template <class Message>
void sum_rows(const DeviceRowSums<Message>& sums, cudaStream_t stream) {
  if (sums.rows == 0 || sums.width == 0) return;
  const bool fours = sums.width % 4 == 0;
  if (!fours) return launch<Message, 32, 2, 1>(sums, stream);
  if (sums.width <= 32) return launch<Message, 8, 1, 4>(sums, stream);
  if (sums.width <= 64) return launch<Message, 16, 1, 4>(sums, stream);
  if (sums.width <= 128) return launch<Message, 32, 1, 4>(sums, stream);
  return launch<Message, 32, 2, 4>(sums, stream);
}

template void sum_rows<float>(const DeviceRowSums<float>&, cudaStream_t);
template void sum_rows<__nv_bfloat16>(const DeviceRowSums<__nv_bfloat16>&, cudaStream_t);

}  // namespace l0gm::cuda
