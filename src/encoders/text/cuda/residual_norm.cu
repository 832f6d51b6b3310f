#include "base/philox.h"
#include "encoders/text/cuda/residual_norm.h"

namespace l0gm::cuda {

namespace {

constexpr int threads = 256, lanes = 32, warps = threads / lanes, step = 4 * lanes;

__device__ __forceinline__ float over_lanes(float sum) {
  for (int distance = lanes / 2; distance > 0; distance /= 2) sum += __shfl_xor_sync(0xFFFFFFFFU, sum, distance);
  return sum;
}

__device__ __forceinline__ float4 read(const float* from) { return *reinterpret_cast<const float4*>(from); }

__device__ __forceinline__ float4 read(const __nv_bfloat16* from) {
  const uint2 bits = *reinterpret_cast<const uint2*>(from);
  const float2 low = __bfloat1622float2(*reinterpret_cast<const __nv_bfloat162*>(&bits.x));
  const float2 high = __bfloat1622float2(*reinterpret_cast<const __nv_bfloat162*>(&bits.y));
  return {low.x, low.y, high.x, high.y};
}

__device__ __forceinline__ void write(float* to, float4 v) { *reinterpret_cast<float4*>(to) = v; }

__device__ __forceinline__ void write(__nv_bfloat16* to, float4 v) {
  const __nv_bfloat162 low = __floats2bfloat162_rn(v.x, v.y), high = __floats2bfloat162_rn(v.z, v.w);
  *reinterpret_cast<uint2*>(to) = {*reinterpret_cast<const uint32_t*>(&low), *reinterpret_cast<const uint32_t*>(&high)};
}

// What four neighbouring numbers of a row are multiplied by: 0 or 1 / (1 - share).
__device__ __forceinline__ float4 kept(const RowDropout& dropout, int64_t row, int64_t column) {
  if (dropout.ids == nullptr) return {1, 1, 1, 1};
  const PhiloxWords w = philox_of_row(dropout.key, static_cast<uint64_t>(dropout.ids[row]), static_cast<uint32_t>(column / 4));
  const float scale = 1 / (1 - dropout.share);
  const auto factor = [&](uint32_t bits) { return uniform_of_bits(bits) >= dropout.share ? scale : 0.0F; };
  return {factor(w.c0), factor(w.c1), factor(w.c2), factor(w.c3)};
}

__device__ __forceinline__ float4 times(float4 a, float4 b) { return {a.x * b.x, a.y * b.y, a.z * b.z, a.w * b.w}; }
__device__ __forceinline__ float4 plus(float4 a, float4 b) { return {a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w}; }
__device__ __forceinline__ float total(float4 a) { return a.x + a.y + a.z + a.w; }

// A warp holds a row, `parts` times four neighbouring columns in each of its threads.
template <int parts>
__global__ void __launch_bounds__(threads) forward_kernel(ResidualNorm s) {
  const int64_t row = (static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x) / lanes;
  if (row >= s.rows) return;
  const int64_t first = threadIdx.x % lanes * 4;
  float4 values[parts];
  float sum = 0;
#pragma unroll
  for (int p = 0; p < parts; ++p) {
    const int64_t column = first + p * step, at = row * s.width + column;
    values[p] = {0, 0, 0, 0};
    if (column >= s.width) continue;
    const float4 x = s.x != nullptr ? read(s.x + at) : read(s.x_half + at);
    values[p] = plus(x, times(read(s.y + at), kept(s.dropout, row, column)));
    sum += total(values[p]);
    if (s.sum != nullptr) write(s.sum + at, values[p]);
  }
  const float width = static_cast<float>(s.width), mean = over_lanes(sum) / width;
  float squares = 0;
#pragma unroll
  for (int p = 0; p < parts; ++p) {
    if (first + p * step >= s.width) continue;
    values[p] = plus(values[p], {-mean, -mean, -mean, -mean});
    squares += total(times(values[p], values[p]));
  }
  const float factor = rsqrtf(over_lanes(squares) / width + s.epsilon);
  if (s.moments != nullptr && first == 0) *reinterpret_cast<float2*>(s.moments + 2 * row) = {mean, factor};
#pragma unroll
  for (int p = 0; p < parts; ++p) {
    const int64_t column = first + p * step, at = row * s.width + column;
    if (column >= s.width) continue;
    const float4 weight = times(read(s.weight + column), {factor, factor, factor, factor});
    const float4 out = plus(times(values[p], weight), read(s.bias + column));
    if (s.out != nullptr) write(s.out + at, out);
    if (s.out_half != nullptr) write(s.out_half + at, out);
  }
}

// The sum of a block's warps, in the order of warps, to [width] numbers.
template <int parts>
__device__ void sum_of_warps(const float4 (&values)[parts], float* shared, int64_t width, float* to) {
  const int warp = threadIdx.x / lanes;
  const int64_t first = threadIdx.x % lanes * 4;
  __syncthreads();
#pragma unroll
  for (int p = 0; p < parts; ++p) {
    if (first + p * step < width) write(shared + warp * width + first + p * step, values[p]);
  }
  __syncthreads();
  for (int64_t column = threadIdx.x; column < width; column += threads) {
    float sum = 0;
    for (int w = 0; w < warps; ++w) sum += shared[w * width + column];
    to[column] = sum;
  }
}

template <int parts>
__global__ void __launch_bounds__(threads) backward_kernel(ResidualNormGradient s) {
  extern __shared__ float shared[];
  const int64_t first = threadIdx.x % lanes * 4, width = s.width;
  const float count = static_cast<float>(width);
  float4 of_weight[parts], of_bias[parts], of_y[parts];
#pragma unroll
  for (int p = 0; p < parts; ++p) of_weight[p] = of_bias[p] = of_y[p] = {0, 0, 0, 0};
  const int64_t walkers = static_cast<int64_t>(gridDim.x) * warps;
  for (int64_t row = static_cast<int64_t>(blockIdx.x) * warps + threadIdx.x / lanes; row < s.rows; row += walkers) {
    const float2 moments = *reinterpret_cast<const float2*>(s.moments + 2 * row);
    float4 scaled[parts], normal[parts];
    float mean = 0, along = 0;
#pragma unroll
    for (int p = 0; p < parts; ++p) {
      const int64_t column = first + p * step, at = row * width + column;
      scaled[p] = normal[p] = {0, 0, 0, 0};
      if (column >= width) continue;
      float4 grad = s.grad != nullptr ? read(s.grad + at) : float4{0, 0, 0, 0};
      if (s.grad_half != nullptr) grad = plus(grad, read(s.grad_half + at));
      const float4 sum = plus(read(s.sum + at), {-moments.x, -moments.x, -moments.x, -moments.x});
      normal[p] = times(sum, {moments.y, moments.y, moments.y, moments.y});
      scaled[p] = times(grad, read(s.weight + column));
      of_weight[p] = plus(of_weight[p], times(grad, normal[p]));
      of_bias[p] = plus(of_bias[p], grad);
      mean += total(scaled[p]);
      along += total(times(scaled[p], normal[p]));
    }
    mean = over_lanes(mean) / count;
    along = over_lanes(along) / count;
#pragma unroll
    for (int p = 0; p < parts; ++p) {
      const int64_t column = first + p * step, at = row * width + column;
      if (column >= width) continue;
      const float4 v = scaled[p], n = normal[p];
      const float f = moments.y;
      const float4 grad = {f * (v.x - mean - n.x * along), f * (v.y - mean - n.y * along), f * (v.z - mean - n.z * along),
                           f * (v.w - mean - n.w * along)};
      write(s.grad_x + at, grad);
      const float4 grad_y = times(grad, kept(s.dropout, row, column));
      write(s.grad_y + at, grad_y);
      of_y[p] = plus(of_y[p], grad_y);
    }
  }
  float* to = s.scratch + static_cast<int64_t>(blockIdx.x) * 3 * width;
  sum_of_warps<parts>(of_weight, shared, width, to);
  sum_of_warps<parts>(of_bias, shared, width, to + width);
  sum_of_warps<parts>(of_y, shared, width, to + 2 * width);
}

// The sums of the blocks' sums. A block has 32 columns and 8 parts of the blocks.
__global__ void __launch_bounds__(threads) finish_kernel(ResidualNormGradient s, int blocks) {
  __shared__ float parts[warps][lanes];
  const int64_t column = static_cast<int64_t>(blockIdx.x) * lanes + threadIdx.x % lanes;
  const int part = threadIdx.x / lanes;
  float sum = 0;
  if (column < 3 * s.width) {
    for (int block = part; block < blocks; block += warps) sum += s.scratch[static_cast<int64_t>(block) * 3 * s.width + column];
  }
  parts[part][threadIdx.x % lanes] = sum;
  __syncthreads();
  if (part != 0 || column >= 3 * s.width) return;
  for (int p = 1; p < warps; ++p) sum += parts[p][threadIdx.x];
  float* to = column < s.width ? s.grad_weight : column < 2 * s.width ? s.grad_bias : s.columns_of_grad_y;
  to[column % s.width] = sum;
}

template <int parts>
void launch_forward(const ResidualNorm& norm, cudaStream_t stream) {
  const int64_t blocks = (norm.rows + warps - 1) / warps;
  forward_kernel<parts><<<static_cast<unsigned>(blocks), threads, 0, stream>>>(norm);
}

template <int parts>
void launch_backward(const ResidualNormGradient& norm, int blocks, cudaStream_t stream) {
  backward_kernel<parts><<<blocks, threads, warps * norm.width * sizeof(float), stream>>>(norm);
}

}  // namespace

bool can_norm_residual(int64_t width) { return width % 4 == 0 && width <= 8 * step; }

void residual_norm(const ResidualNorm& norm, cudaStream_t stream) {
  if (norm.rows == 0) return;
  if (norm.width <= step) return launch_forward<1>(norm, stream);
  if (norm.width <= 2 * step) return launch_forward<2>(norm, stream);
  if (norm.width <= 3 * step) return launch_forward<3>(norm, stream);
  if (norm.width <= 6 * step) return launch_forward<6>(norm, stream);
  launch_forward<8>(norm, stream);
}

void residual_norm_gradient(const ResidualNormGradient& norm, cudaStream_t stream) {
  const int64_t wanted = (norm.rows + warps - 1) / warps;
  const int blocks = static_cast<int>(wanted < residual_norm_blocks ? wanted : residual_norm_blocks);
  if (blocks == 0) return;
  if (norm.width <= step)
    launch_backward<1>(norm, blocks, stream);
  else if (norm.width <= 2 * step)
    launch_backward<2>(norm, blocks, stream);
  else if (norm.width <= 3 * step)
    launch_backward<3>(norm, blocks, stream);
  else if (norm.width <= 6 * step)
    launch_backward<6>(norm, blocks, stream);
  else
    launch_backward<8>(norm, blocks, stream);
  finish_kernel<<<static_cast<unsigned>((3 * norm.width + lanes - 1) / lanes), threads, 0, stream>>>(norm, blocks);
}

}  // namespace l0gm::cuda
