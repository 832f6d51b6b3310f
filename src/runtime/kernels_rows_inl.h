// Sums of table rows, dense layers and dot products, for the instruction set that Highway is compiling.
#if defined(L0GM_RUNTIME_KERNELS_ROWS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef L0GM_RUNTIME_KERNELS_ROWS_INL
#undef L0GM_RUNTIME_KERNELS_ROWS_INL
#else
#define L0GM_RUNTIME_KERNELS_ROWS_INL
#endif

#include <hwy/highway.h>

#include <utility>

#include "runtime/kernels.h"
#include "runtime/kernels_load_inl.h"

HWY_BEFORE_NAMESPACE();
namespace l0gm::kernels::HWY_NAMESPACE {

// Accumulators that stay in registers; an entry's factor and, without fused multiply-add, a product need one register each.
constexpr int most_accumulators = vector_lanes == 1 ? 8 : 10;

template <int count>
HWY_INLINE void weighted_sums(const Vector (&sum)[count], const RowSums& sums, int64_t begin, float* out) {
  for (int64_t l = 0; l < sums.logits; ++l) {
    const float* weights = sums.weights + l * sums.weight_stride + begin;
    Vector even = hn::Zero(Floats()), odd = even;  // two independent chains: half the latency
    for (int i = 0; i < count; i += 2) even = hn::MulAdd(sum[i], hn::Load(Floats(), weights + i * vector_lanes), even);
    for (int i = 1; i < count; i += 2) odd = hn::MulAdd(sum[i], hn::Load(Floats(), weights + i * vector_lanes), odd);
    const float total = sum_of_lanes(hn::Add(even, odd));
    out[l] = begin == 0 ? total : out[l] + total;
  }
}

template <class T, int count>
HWY_INLINE void add_row(Vector (&sum)[count], const std::byte* table_row, int64_t begin, float factor) {
  const Vector factors = hn::Set(Floats(), factor);
  const T* row = reinterpret_cast<const T*>(table_row) + begin;
  for (int i = 0; i < count; ++i) sum[i] = hn::MulAdd(factors, load(row + i * vector_lanes), sum[i]);
}

// The same with factor 1, or the row's scale.
template <class T, int count, class Table>
HWY_INLINE void add_first_row(Vector (&sum)[count], const Table& table, int64_t index, const RowSums& sums, int64_t begin) {
  const std::byte* table_row = table.rows + index * sums.row_bytes;
  if constexpr (has_scales<T>) {
    add_row<T, count>(sum, table_row, begin, table.scales[index]);
  } else {
    const T* row = reinterpret_cast<const T*>(table_row) + begin;
    for (int i = 0; i < count; ++i) sum[i] = hn::Add(load(row + i * vector_lanes), sum[i]);
  }
}

// Few numbers need their direction, and which do is unpredictable: they are collected without a branch and added after the first
// rows. A branch per number would be mispredicted often, which costs as much as several rows.
template <class T, int count>
HWY_INLINE void add_numbers(Vector (&sum)[count], const RowSums& sums, int64_t begin, const int32_t* codes, const float* slopes) {
  constexpr size_t most = 32;
  const NumberTable* pending[most];
  const NumberTable *table = sums.number_tables.data(), *const end = table + sums.number_tables.size();
  while (table != end) {
    size_t pending_count = 0;
    const NumberTable* chunk_end = end - table > static_cast<ptrdiff_t>(most) ? table + most : end;
    for (; table != chunk_end; ++table) {
      add_first_row<T, count>(sum, *table, table->picked.first(codes), sums, begin);
      pending[pending_count] = table;
      pending_count += table->picked.between(codes) ? 1 : 0;
    }
    for (size_t n = 0; n < pending_count; ++n) {
      const NumberTable& of = *pending[n];
      const int64_t index = of.picked.direction(codes);
      const float factor = scaled<T>(slopes[of.picked.value_slot], of.scales, index);
      add_row<T, count>(sum, of.rows + index * sums.row_bytes, begin, factor);
    }
  }
}

// Columns `begin` … begin + count vectors, of all rows.
template <class T, int count>
HWY_NOINLINE void sum_chunk(const RowSums& sums, const RowBlock& block, float* out, int64_t begin) {
  for (int64_t r = 0; r < block.rows; ++r, out += sums.out_stride) {
    const int32_t* codes = block.codes + r * block.code_stride;
    Vector sum[count];
    for (int i = 0; i < count; ++i) sum[i] = hn::Load(Floats(), sums.base + begin + i * vector_lanes);
    for (const CodeTable& table : sums.code_tables) add_first_row<T, count>(sum, table, codes[table.slot], sums, begin);
    add_numbers<T, count>(sum, sums, begin, codes, block.slopes + r * block.slope_stride);
    if (block.counts != nullptr) {
      const Entry* entry = block.entries + r * sums.entry_stride;
      for (const Entry* end = entry + block.counts[r]; entry != end; ++entry)
        add_row<T, count>(sum, entry->row, begin, entry->factor);
    }
    for (int i = 0; i < count; ++i) sum[i] = hn::Max(sum[i], hn::Load(Floats(), sums.lower_bound + begin + i * vector_lanes));
    if (sums.weights != nullptr) {
      weighted_sums<count>(sum, sums, begin, out);
    } else {
      for (int i = 0; i < count; ++i) hn::StoreU(sum[i], Floats(), out + begin + i * vector_lanes);
    }
  }
}

template <class T, int... sizes>
HWY_INLINE auto sum_chunk_of(int64_t vectors, std::integer_sequence<int, sizes...>) {
  static constexpr void (*by_size[])(const RowSums&, const RowBlock&, float*, int64_t) = {sum_chunk<T, sizes + 1>...};
  return by_size[vectors - 1];
}

template <class T>
void sum_rows(const RowSums& sums, const RowBlock& block, float* out) {
  if constexpr (vector_lanes == 1) {  // rows are padded to whole chunks of one size: the others need no code
    for (int64_t begin = 0; begin < padded(sums.columns); begin += most_accumulators) {
      sum_chunk<T, most_accumulators>(sums, block, out, begin);
    }
  } else {
    const int64_t vectors = (sums.columns + vector_lanes - 1) / vector_lanes;
    int64_t chunks = (vectors + most_accumulators - 1) / most_accumulators;
    for (int64_t done = 0; chunks > 0; --chunks) {
      // Evenly, as looking up the rows costs a chunk of one vector most; one chunk, the usual case, needs no division.
      const int64_t share = chunks == 1 ? vectors - done : (vectors - done + chunks - 1) / chunks;
      sum_chunk_of<T>(share, std::make_integer_sequence<int, most_accumulators>())(sums, block, out, done * vector_lanes);
      done += share;
    }
  }
}

// Adds `rows` rows of `in` times `count` vectors of weights, from row `row` and output `begin` on. Every row's sums are formed in
// the same order whatever the tile, so that a row's result does not depend on its neighbours.
template <class T, int rows, int count, class Layer>
HWY_INLINE void add_product(Vector (&sum)[rows][count], const Layer& layer, int64_t row, int64_t begin) {
  const float* in = layer.in + row * layer.in_stride;
  const T* weights = reinterpret_cast<const T*>(layer.weights) + begin;
  for (int64_t k = 0; k < layer.inputs; ++k, weights += layer.weight_stride) {
    Vector weight[count];
    for (int i = 0; i < count; ++i) weight[i] = load(weights + i * vector_lanes);
    for (int r = 0; r < rows; ++r) {
      const Vector factor = hn::Set(Floats(), scaled<T>(in[r * layer.in_stride + k], layer.scales, k));
      for (int i = 0; i < count; ++i) sum[r][i] = hn::MulAdd(factor, weight[i], sum[r][i]);
    }
  }
}

template <class T, int rows, int count>
HWY_INLINE void tile(const Dense& layer, int64_t row, int64_t begin) {
  Vector sum[rows][count];
  for (int r = 0; r < rows; ++r) {
    for (int i = 0; i < count; ++i) sum[r][i] = hn::LoadU(Floats(), layer.bias + begin + i * vector_lanes);
  }
  add_product<T, rows, count>(sum, layer, row, begin);
  for (int r = 0; r < rows; ++r) {
    float* out = layer.out + (row + r) * layer.out_stride + begin;
    for (int i = 0; i < count; ++i) hn::StoreU(hn::Max(sum[r][i], hn::Zero(Floats())), Floats(), out + i * vector_lanes);
  }
}

template <class T, int rows, int count>
HWY_INLINE void tile(const MemberDense& layer, int64_t row, int64_t begin) {
  Vector sum[rows][count];
  for (int r = 0; r < rows; ++r) {
    for (int i = 0; i < count; ++i) sum[r][i] = hn::Zero(Floats());
  }
  add_product<T, rows, count>(sum, layer, row, begin);
  for (int r = 0; r < rows; ++r) {
    const int64_t member = (row + r) / layer.rows, of_member = row + r - member * layer.rows;
    const float* factors = layer.factors + member * layer.factor_stride + begin;
    const float* base = layer.base + member * layer.base_member_stride + of_member * layer.base_row_stride + begin;
    float* out = layer.out + (row + r) * layer.out_stride + begin;
    for (int i = 0; i < count; ++i) {
      const int64_t at = i * vector_lanes;
      const Vector value = hn::MulAdd(sum[r][i], hn::Load(Floats(), factors + at), hn::LoadU(Floats(), base + at));
      hn::StoreU(hn::Max(value, hn::Zero(Floats())), Floats(), out + at);
    }
  }
}

template <class T, int count, class Layer>
HWY_NOINLINE void strip(const Layer& layer, int64_t rows, int64_t begin) {
  int64_t row = 0;
  for (; row + 4 <= rows; row += 4) tile<T, 4, count>(layer, row, begin);
  for (; row < rows; ++row) tile<T, 1, count>(layer, row, begin);
}

template <class T, class Layer>
HWY_INLINE void all_strips(const Layer& layer, int64_t rows) {
  constexpr int most = vector_lanes == lanes ? 4 : 2;  // only the widest instructions have registers for 4 x 4 sums
  const int64_t vectors = (layer.outputs + vector_lanes - 1) / vector_lanes;
  int64_t done = 0;
  for (; done + most <= vectors; done += most) strip<T, most>(layer, rows, done * vector_lanes);
  for (; done < vectors; ++done) strip<T, 1>(layer, rows, done * vector_lanes);
}

template <class T>
void dense(const Dense& layer) {
  all_strips<T>(layer, layer.rows);
}

template <class T>
void member_dense(const MemberDense& layer) {
  all_strips<T>(layer, layer.members * layer.rows);
}

inline void scale_rows(const ScaledRows& rows) {
  for (int64_t r = 0; r < rows.rows; ++r) {
    const float* in = rows.in + r * rows.in_stride;
    float* out = rows.out + r * rows.out_stride;
    for (int64_t i = 0; i < rows.count; i += vector_lanes) {
      hn::StoreU(hn::Mul(hn::LoadU(Floats(), in + i), hn::Load(Floats(), rows.factors + i)), Floats(), out + i);
    }
  }
}

inline void add_dots(const Dots& dots) {
  const int64_t whole = dots.count / vector_lanes * vector_lanes;
  const auto rest = hn::FirstN(Floats(), static_cast<size_t>(dots.count - whole));
  for (int64_t r = 0; r < dots.rows; ++r) {
    const float* in = dots.in + r * dots.in_stride;
    Vector sum = hn::Zero(Floats());
    for (int64_t i = 0; i < whole; i += vector_lanes) {
      sum = hn::MulAdd(hn::LoadU(Floats(), in + i), hn::Load(Floats(), dots.weights + i), sum);
    }
    if (whole < dots.count) {
      const Vector last = hn::IfThenElseZero(rest, hn::LoadU(Floats(), in + whole));
      sum = hn::MulAdd(last, hn::Load(Floats(), dots.weights + whole), sum);
    }
    dots.out[r * dots.out_stride] += sum_of_lanes(sum);
  }
}

}  // namespace l0gm::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
