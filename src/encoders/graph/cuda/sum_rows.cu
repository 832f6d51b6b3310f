#include "encoders/graph/cuda/sum_rows.h"

namespace l0gm::cuda {

namespace {

constexpr int threads = 256, warp = 32;

// `count` neighbouring numbers of a row, 16 bytes where the row allows it, as they are loaded.
template <class Message, int count>
struct Loaded {
  Message values[count];
};
template <>
struct Loaded<float, 4> {
  float4 values;
};
template <>
struct Loaded<__nv_bfloat16, 8> {
  uint4 values;
};
template <>
struct Loaded<__nv_bfloat16, 4> {
  uint2 values;
};

template <class Message, int count>
__device__ __forceinline__ Loaded<Message, count> load(const Message* from) {
  using Whole = Loaded<Message, count>;
  if constexpr (count == 1) {
    return {{from[0]}};
  } else {
    return {__ldg(reinterpret_cast<const decltype(Whole::values)*>(from))};
  }
}

// sum += factor * row, number by number.
template <bool factors>
__device__ __forceinline__ void add(float& sum, float factor, float value) {
  sum = factors ? fmaf(factor, value, sum) : sum + value;
}

template <bool factors>
__device__ __forceinline__ void add_two(float* sums, float factor, uint32_t two) {  // bfloat16 are the high halves of floats
  add<factors>(sums[0], factor, __uint_as_float(two << 16));
  add<factors>(sums[1], factor, __uint_as_float(two & 0xFFFF0000U));
}

template <bool factors, class Message, int count>
__device__ __forceinline__ void add(float (&sums)[count], float factor, const Loaded<Message, count>& row) {
  if constexpr (count == 1) {
    add<factors>(sums[0], factor, static_cast<float>(row.values[0]));
  } else if constexpr (sizeof(Message) == 4) {
    add<factors>(sums[0], factor, row.values.x);
    add<factors>(sums[1], factor, row.values.y);
    add<factors>(sums[2], factor, row.values.z);
    add<factors>(sums[3], factor, row.values.w);
  } else {
    add_two<factors>(sums, factor, row.values.x);
    add_two<factors>(sums + 2, factor, row.values.y);
    if constexpr (count == 8) {
      add_two<factors>(sums + 4, factor, row.values.z);
      add_two<factors>(sums + 6, factor, row.values.w);
    }
  }
}

// What is stored is not cached: the cache is for the rows that are gathered.
template <int count>
__device__ __forceinline__ void store(const float (&from)[count], float* to) {
  if constexpr (count == 1) {
    __stcs(to, from[0]);
  } else {
#pragma unroll
    for (int j = 0; j < count; j += 4)
      __stcs(reinterpret_cast<float4*>(to + j), float4{from[j], from[j + 1], from[j + 2], from[j + 3]});
  }
}

// The row's own factors: y = target * sum + self * own row.
template <class Message, int count>
__device__ __forceinline__ void finish(const DeviceRowSums<Message>& s, int64_t row, int64_t channel, float (&sum)[count]) {
  const float scale = s.target ? __ldg(s.target + row) : 1.0F;
#pragma unroll
  for (int j = 0; j < count; ++j) sum[j] *= scale;
  if (s.self && row < s.self_rows) {
    const float self = __ldg(s.self + row);
    const float* own = s.own_x + (s.own ? __ldg(s.own + row) : row) * s.width + channel;
    constexpr int step = count == 1 ? 1 : 4;
#pragma unroll
    for (int j = 0; j < count; j += step) {
      const Loaded<float, step> values = load<float, step>(own + j);
      add<true>(reinterpret_cast<float (&)[step]>(sum[j]), self, values);
    }
  }
  store<count>(sum, s.y + row * s.width + channel);
}

// A group of `lanes` threads sums a segment or a whole row, each of them `parts` times `count` neighbouring channels. Blocks of a
// grid's row sum the same channels. `factors`: a neighbour's row has a factor, of its edge or of its source.
template <class Message, int lanes, int parts, int count, int unrolled, bool factors>
__global__ void __launch_bounds__(threads)
    sum_kernel(DeviceRowSums<Message> s, DeviceRowPlan plan, int64_t items, float* partial) {
  const int lane = threadIdx.x % lanes;
  const int64_t item = (static_cast<int64_t>(blockIdx.x) * threads + threadIdx.x) / lanes;
  if (item >= items) return;
  const unsigned mask = lanes == warp ? 0xFFFFFFFFU : ((1U << lanes) - 1) << (threadIdx.x % warp / lanes * lanes);
  const bool is_segment = item < plan.segments;
  const int64_t place = is_segment ? plan.row_of_segment[item] : plan.cut_rows + item - plan.segments;
  const int64_t row = plan.rows ? plan.rows[place] : place;
  int64_t begin = s.offsets[row];
  const int64_t row_end = s.offsets[row + 1];
  if (is_segment) begin += (item - plan.first_segment[place]) * plan.longest;
  const int64_t left = row_end - begin;
  const int edges = static_cast<int>(is_segment && left > plan.longest ? plan.longest : left);  // none: the row became shorter
  const int64_t first_channel = static_cast<int64_t>(blockIdx.y) * (lanes * parts * count) + lane * count;
  const Message* x = s.x + first_channel;
  const auto channel_of = [&](int p) { return first_channel + p * (lanes * count); };
  float sum[parts][count] = {};

  // Each thread of the group holds the number of one neighbour and its factor, those of the next ones are on their way.
  const auto neighbour_of = [&](int edge) { return edge < edges ? __ldcs(s.neighbours + begin + edge) : 0; };
  const auto factor_of = [&](int edge, int32_t neighbour) {
    if (!factors || edge >= edges) return 1.0F;
    const float weight = s.weights ? __ldcs(s.weights + begin + edge) : 1.0F;
    return s.source ? weight * __ldg(s.source + neighbour) : weight;
  };
  int32_t neighbour = neighbour_of(lane), next = neighbour_of(lane + lanes);
  float factor = factor_of(lane, neighbour);
  for (int edge = 0; edge < edges; edge += lanes) {
    const int32_t after = neighbour_of(edge + lane + 2 * lanes);
    const float next_factor = factor_of(edge + lane + lanes, next);
    const int here = edges - edge < lanes ? edges - edge : lanes;
    for (int i = 0; i < here; i += unrolled) {
      Loaded<Message, count> rows[unrolled][parts];
      float times[unrolled];
#pragma unroll
      for (int k = 0; k < unrolled; ++k) {
        const int64_t u = __shfl_sync(mask, neighbour, i + k, lanes);
        times[k] = factors ? __shfl_sync(mask, factor, i + k, lanes) : 1.0F;
#pragma unroll
        for (int p = 0; p < parts; ++p) {
          rows[k][p] = {};
          if (i + k < here && channel_of(p) < s.width) rows[k][p] = load<Message, count>(x + u * s.width + p * (lanes * count));
        }
      }
#pragma unroll
      for (int k = 0; k < unrolled; ++k) {
#pragma unroll
        for (int p = 0; p < parts; ++p) add<factors>(sum[p], times[k], rows[k][p]);
      }
    }
    neighbour = next, next = after, factor = next_factor;
  }
#pragma unroll
  for (int p = 0; p < parts; ++p) {
    if (channel_of(p) >= s.width) continue;
    if (is_segment) {
      store<count>(sum[p], partial + item * s.width + channel_of(p));
    } else {
      finish<Message, count>(s, row, channel_of(p), sum[p]);
    }
  }
}

// A block adds the sums of one row's segments: each of its warps a run of them, then the first one the warps' sums, in order.
template <class Message, int count>
__global__ void __launch_bounds__(threads) join_kernel(DeviceRowSums<Message> s, DeviceRowPlan plan, const float* partial) {
  constexpr int warps = threads / warp, unrolled = 4;
  __shared__ float sums[warps][warp][count];
  const int w = threadIdx.x / warp, lane = threadIdx.x % warp;
  const int64_t channel = (static_cast<int64_t>(blockIdx.y) * warp + lane) * count;
  const int first = plan.first_segment[blockIdx.x], all = plan.first_segment[blockIdx.x + 1] - first;
  const int run = (all + warps - 1) / warps, end = min(all, (w + 1) * run);
  float sum[count] = {};
  if (channel < s.width) {
    const float* from = partial + first * s.width + channel;
    for (int i = w * run; i < end; i += unrolled) {
      Loaded<float, count> rows[unrolled] = {};
#pragma unroll
      for (int k = 0; k < unrolled; ++k) {
        if (i + k < end) rows[k] = load<float, count>(from + (i + k) * s.width);
      }
#pragma unroll
      for (int k = 0; k < unrolled; ++k) add<false>(sum, 1.0F, rows[k]);
    }
  }
#pragma unroll
  for (int j = 0; j < count; ++j) sums[w][lane][j] = sum[j];
  __syncthreads();
  if (w != 0 || channel >= s.width) return;
#pragma unroll
  for (int other = 1; other < warps; ++other) {
#pragma unroll
    for (int j = 0; j < count; ++j) sum[j] += sums[other][lane][j];
  }
  finish<Message, count>(s, plan.rows[blockIdx.x], channel, sum);
}

template <class Message, int lanes, int parts, int count, int unrolled>
void launch(const DeviceRowSums<Message>& sums, const DeviceRowPlan& plan, float* partial, cudaStream_t stream) {
  const int64_t items = plan.segments + sums.rows - plan.cut_rows, slice = lanes * parts * count;
  const dim3 blocks(static_cast<unsigned>((items * lanes + threads - 1) / threads),
                    static_cast<unsigned>((sums.width + slice - 1) / slice));
  const auto kernel = sums.weights || sums.source ? sum_kernel<Message, lanes, parts, count, unrolled, true>
                                                  : sum_kernel<Message, lanes, parts, count, unrolled, false>;
  kernel<<<blocks, threads, 0, stream>>>(sums, plan, items, partial);
  if (plan.cut_rows == 0) return;
  constexpr int joined = count == 1 ? 1 : 4;
  const dim3 join_blocks(static_cast<unsigned>(plan.cut_rows),
                         static_cast<unsigned>((sums.width + warp * joined - 1) / (warp * joined)));
  join_kernel<Message, joined><<<join_blocks, threads, 0, stream>>>(sums, plan, partial);
}

template <class Message, int count, int unrolled>
void launch_wide(const DeviceRowSums<Message>& sums, const DeviceRowPlan& plan, int channels, float* partial,
                 cudaStream_t stream) {
  if (sums.width <= 32) return launch<Message, 32 / count, 1, count, 4>(sums, plan, partial, stream);
  if (sums.width <= 64 || channels <= 64) return launch<Message, 64 / count, 1, count, unrolled>(sums, plan, partial, stream);
  if (sums.width <= 128 || channels <= 128) return launch<Message, 128 / count, 1, count, unrolled>(sums, plan, partial, stream);
  constexpr int lanes = 256 / count < warp ? 256 / count : warp;
  launch<Message, lanes, 256 / count / lanes, count, unrolled>(sums, plan, partial, stream);
}

}  // namespace

std::vector<RowSumShape> row_sum_shapes(int64_t width) {
  if (width <= 32) return {{}};
  std::vector<RowSumShape> shapes;
  for (const int channels : {64, 128, 256}) {
    if (channels > 64 && channels / 2 >= width) continue;
    for (const int neighbours : {4, 8}) shapes.push_back({channels, neighbours});
  }
  return shapes;
}

template <class Message>
void sum_rows(const DeviceRowSums<Message>& sums, const DeviceRowPlan& plan, const RowSumShape& shape, float* partial,
              cudaStream_t stream) {
  if (sums.rows == 0 || sums.width == 0) return;
  constexpr int widest = 16 / sizeof(Message);
  if (sums.width % widest != 0) {
    if (sums.width % 4 == 0) return launch<Message, 32, 1, 4, 4>(sums, plan, partial, stream);
    return launch<Message, 32, 2, 1, 4>(sums, plan, partial, stream);
  }
  if (shape.neighbours > 4) return launch_wide<Message, widest, 8>(sums, plan, shape.channels, partial, stream);
  launch_wide<Message, widest, 4>(sums, plan, shape.channels, partial, stream);
}

template void sum_rows<float>(const DeviceRowSums<float>&, const DeviceRowPlan&, const RowSumShape&, float*, cudaStream_t);
template void sum_rows<__nv_bfloat16>(const DeviceRowSums<__nv_bfloat16>&, const DeviceRowPlan&, const RowSumShape&, float*,
                                      cudaStream_t);

}  // namespace l0gm::cuda
