#include "gate/cuda/gate_step.h"

#include <type_traits>

#include "gate/cuda/column_sums.h"

namespace l0gm::cuda {

namespace {

constexpr int threads = 256, warp = 32;
constexpr int64_t most_blocks = 1024, most_row_blocks = 256;  // constants, so that sums do not depend on the device

// A block is `lanes` threads wide, each of them four neighbouring columns, whose logits it keeps over all of its rows.
struct Layout {
  int lanes;
  dim3 blocks;
};

Layout layout_of(const GateRows& gate) {
  const int64_t quads = (gate.width + 3) / 4;
  int lanes = warp;
  while (lanes > 1 && lanes / 2 >= quads) lanes /= 2;
  const int64_t across = (quads + lanes - 1) / lanes, down = threads / lanes;
  int64_t row_blocks = most_blocks / across;
  row_blocks = row_blocks > most_row_blocks ? most_row_blocks : row_blocks < 1 ? 1 : row_blocks;
  const int64_t needed = (gate.rows + down - 1) / down;
  if (needed < row_blocks) row_blocks = needed;
  return {lanes, dim3(static_cast<unsigned>(across), static_cast<unsigned>(row_blocks))};
}

// Four numbers from `at` on; where rows are no multiples of four, as many as are left. A null pointer gives `other`.
template <bool whole>
__device__ __forceinline__ float4 four(const float* from, int64_t at, int count, float other) {
  if (from == nullptr) return {other, other, other, other};
  if constexpr (whole) return *reinterpret_cast<const float4*>(from + at);
  return {from[at], count > 1 ? from[at + 1] : other, count > 2 ? from[at + 2] : other, count > 3 ? from[at + 3] : other};
}

template <bool whole>
__device__ __forceinline__ void put_four(const float4& v, float* to, int64_t at, int count) {
  if constexpr (whole) {
    __stcg(reinterpret_cast<float4*>(to + at), v);  // an assignment becomes four stores here
  } else {
    to[at] = v.x;
    if (count > 1) to[at + 1] = v.y;
    if (count > 2) to[at + 2] = v.z;
    if (count > 3) to[at + 3] = v.w;
  }
}

// With the numbers of the present step, where these are in memory.
__device__ __forceinline__ GateRows of_this_step(GateRows gate) {
  if (gate.key.live != nullptr) gate.key.value = __ldg(reinterpret_cast<const unsigned long long*>(gate.key.live));
  if (gate.live_tau != nullptr) gate.numbers.inverse_tau = static_cast<float>(1.0 / __ldg(gate.live_tau));
  return gate;
}

__device__ __forceinline__ float4 gates_of(const GateRows& gate, int64_t row, int64_t quad, const float4& logits) {
  const PhiloxWords words = philox_of_row(gate.key.value, static_cast<uint64_t>(__ldg(gate.ids + row)), static_cast<uint32_t>(quad));
  const GateNumbers& n = gate.numbers;
  return {gate_of(logits.x, uniform_of_bits(words.c0), n), gate_of(logits.y, uniform_of_bits(words.c1), n),
          gate_of(logits.z, uniform_of_bits(words.c2), n), gate_of(logits.w, uniform_of_bits(words.c3), n)};
}

__device__ __forceinline__ float4 times(const float4& a, const float4& b) { return {a.x * b.x, a.y * b.y, a.z * b.z, a.w * b.w}; }
__device__ __forceinline__ float4 plus(const float4& a, const float4& b) { return {a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w}; }

// Calls work(place of the first of four numbers, their count, r, keep, z) for each row of this thread.
template <bool whole, bool by_element, class Work>
__device__ __forceinline__ void for_rows(const GateRows& gate, int lanes, const Work& work) {
  const int64_t quad = static_cast<int64_t>(blockIdx.x) * lanes + threadIdx.x % lanes, column = 4 * quad;
  if (column >= gate.width) return;
  const int count = gate.width - column < 4 ? static_cast<int>(gate.width - column) : 4;
  float4 logits{}, keep{};
  if (!by_element) logits = four<whole>(gate.logits, column, count, 0.0F), keep = four<whole>(gate.keep, column, count, 1.0F);
  const int64_t step = static_cast<int64_t>(gridDim.y) * (threads / lanes);
  for (int64_t row = static_cast<int64_t>(blockIdx.y) * (threads / lanes) + threadIdx.x / lanes; row < gate.rows; row += step) {
    const int64_t at = row * gate.width + column;
    if (by_element) logits = four<whole>(gate.logits, at, count, 0.0F), keep = four<whole>(gate.keep, at, count, 1.0F);
    const float4 r = four<whole>(gate.r, at, count, 1.0F);
    work(at, count, r, keep, gates_of(gate, row, quad, logits));
  }
}

template <bool whole, bool by_element>
__global__ void __launch_bounds__(threads) forward_kernel(GateRows given, int lanes, float* value, float* gates) {
  const GateRows gate = of_this_step(given);
  for_rows<whole, by_element>(gate, lanes, [&](int64_t at, int count, const float4& r, const float4& keep, const float4& z) {
    const float4 kept = times(z, keep);
    if (value) put_four<whole>(times(r, kept), value, at, count);
    if (gates) put_four<whole>(kept, gates, at, count);
  });
}

// A unit that top-k closes passes the gradient to its logit as if it were open, so that it can come back.
template <bool whole, bool by_element>
__global__ void __launch_bounds__(threads) backward_kernel(GateRows given, int lanes, const float* of_value, const float* of_gates,
                                                           float* of_r, float* of_logits, float* partial) {
  const GateRows gate = of_this_step(given);
  float4 sum{};
  for_rows<whole, by_element>(gate, lanes, [&](int64_t at, int count, const float4& r, const float4& keep, const float4& z) {
    const float4 dv = four<whole>(of_value, at, count, 0.0F), dg = four<whole>(of_gates, at, count, 0.0F);
    if (of_r) put_four<whole>(times(dv, times(z, keep)), of_r, at, count);
    const float4 slope{gate_slope(z.x, gate.numbers), gate_slope(z.y, gate.numbers), gate_slope(z.z, gate.numbers),
                       gate_slope(z.w, gate.numbers)};
    const float4 d = times(plus(times(dv, r), dg), slope);
    if (by_element) put_four<whole>(d, of_logits, at, count);
    sum = plus(sum, d);
  });
  if (by_element) return;
  __shared__ float4 sums[threads];
  sums[threadIdx.x] = sum;
  __syncthreads();
  const int64_t column = 4 * (static_cast<int64_t>(blockIdx.x) * lanes + threadIdx.x);
  if (static_cast<int>(threadIdx.x) >= lanes || column >= gate.width) return;
  for (int other = threadIdx.x + lanes; other < threads; other += lanes) sum = plus(sum, sums[other]);
  const int count = gate.width - column < 4 ? static_cast<int>(gate.width - column) : 4;
  put_four<whole>(sum, partial, blockIdx.y * gate.width + column, count);
}

// Calls launch with the two things that its kernels are compiled for: rows that are multiples of four, logits of each element.
template <class Launch>
void with_kind_of(const GateRows& gate, const Launch& launch) {
  const bool whole = gate.width % 4 == 0;
  if (whole && gate.by_element) return launch(std::true_type{}, std::true_type{});
  if (whole) return launch(std::true_type{}, std::false_type{});
  if (gate.by_element) return launch(std::false_type{}, std::true_type{});
  launch(std::false_type{}, std::false_type{});
}

}  // namespace

int64_t gate_partial_sums(const GateRows& gate) { return gate.by_element ? 0 : layout_of(gate).blocks.y * gate.width; }

void gate_forward(const GateRows& gate, float* value, float* gates, cudaStream_t stream) {
  if (gate.rows == 0 || gate.width == 0) return;
  const Layout layout = layout_of(gate);
  with_kind_of(gate, [&](auto whole, auto by_element) {
    const auto kernel = forward_kernel<whole.value, by_element.value>;
    kernel<<<layout.blocks, threads, 0, stream>>>(gate, layout.lanes, value, gates);
  });
}

void gate_backward(const GateRows& gate, const float* of_value, const float* of_gates, float* of_r, float* of_logits,
                   float* partial, cudaStream_t stream) {
  if (gate.rows == 0 || gate.width == 0) return;
  const Layout layout = layout_of(gate);
  with_kind_of(gate, [&](auto whole, auto by_element) {
    const auto kernel = backward_kernel<whole.value, by_element.value>;
    kernel<<<layout.blocks, threads, 0, stream>>>(gate, layout.lanes, of_value, of_gates, of_r, of_logits, partial);
  });
  if (gate.by_element) return;
  sum_columns(partial, layout.blocks.y, gate.width, of_logits, stream);
}

}  // namespace l0gm::cuda
