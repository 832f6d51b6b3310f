// Attention of one head of one text, for the instruction set that Highway is compiling.
#if defined(L0GM_RUNTIME_TEXT_KERNELS_ATTENTION_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef L0GM_RUNTIME_TEXT_KERNELS_ATTENTION_INL
#undef L0GM_RUNTIME_TEXT_KERNELS_ATTENTION_INL
#else
#define L0GM_RUNTIME_TEXT_KERNELS_ATTENTION_INL
#endif

#include <hwy/highway.h>

#include <algorithm>

#include "runtime/text/text_kernels_rows_inl.h"

HWY_BEFORE_NAMESPACE();
namespace l0gm::text_kernels::HWY_NAMESPACE {

// Queries whose sums stay in registers, with two vectors each.
constexpr int64_t queries_at_once = vector_lanes >= 16 ? attention_rows : 4;
static_assert(queries_at_once <= attention_rows);

// out[r, columns of two vectors] = sum over i of factors[r, i] * rows[i, …]; `vectors` is 1 or 2.
template <int64_t Rows, int64_t Vectors>
HWY_INLINE void tile(const float* factors, int64_t factor_stride, const float* rows, int64_t row_stride, int64_t count,
                     const float* row_factors, float* out, int64_t out_stride) {
  Vector sums[Rows][Vectors];
  for (int64_t r = 0; r < Rows; ++r)
    for (int64_t v = 0; v < Vectors; ++v) sums[r][v] = number(0);
  for (int64_t i = 0; i < count; ++i) {
    Vector row[Vectors];
    for (int64_t v = 0; v < Vectors; ++v) row[v] = hn::Load(Floats(), rows + i * row_stride + v * vector_lanes);
    for (int64_t r = 0; r < Rows; ++r) {
      const Vector factor = number(factors[r * factor_stride + i]);
      for (int64_t v = 0; v < Vectors; ++v) sums[r][v] = hn::MulAdd(factor, row[v], sums[r][v]);
    }
  }
  for (int64_t r = 0; r < Rows; ++r) {
    const Vector factor = number(row_factors != nullptr ? row_factors[r] : 1);
    for (int64_t v = 0; v < Vectors; ++v)
      hn::Store(hn::Mul(factor, sums[r][v]), Floats(), out + r * out_stride + v * vector_lanes);
  }
}

template <int64_t Rows>
HWY_INLINE void multiply_rows(const float* factors, int64_t factor_stride, const float* rows, int64_t columns, int64_t count,
                              const float* row_factors, float* out, int64_t out_stride) {
  int64_t c = 0;
  for (; c + 2 * vector_lanes <= columns; c += 2 * vector_lanes)
    tile<Rows, 2>(factors, factor_stride, rows + c, columns, count, row_factors, out + c, out_stride);
  for (; c < columns; c += vector_lanes)
    tile<Rows, 1>(factors, factor_stride, rows + c, columns, count, row_factors, out + c, out_stride);
}

// Scores become weights that still have to be multiplied by what is returned.
HWY_INLINE float soften(float* scores, int64_t keys) {
  Vector top = number(-3.0e38F);
  for (int64_t i = 0; i < keys; i += vector_lanes)
    top = hn::Max(top, hn::IfThenElse(inside(i, keys), hn::Load(Floats(), scores + i), top));
  top = hn::MaxOfLanes(Floats(), top);
  Vector total = number(0);
  for (int64_t i = 0; i < keys; i += vector_lanes) {
    const Vector weight = hn::IfThenElseZero(inside(i, keys), exp_of(hn::Sub(hn::Load(Floats(), scores + i), top)));
    hn::Store(weight, Floats(), scores + i);
    total = hn::Add(total, weight);
  }
  return 1 / sum_of(total);
}

struct AttentionScratch {
  int64_t keys, width;  // padded
  float *transposed, *values, *scores, *queries;
  HWY_INLINE explicit AttentionScratch(const HeadAttention& a)
      : keys(kernels::padded(a.keys)),
        width(kernels::padded(a.width)),
        transposed(a.scratch),
        values(transposed + width * keys),
        scores(values + a.keys * width),
        queries(scores + attention_rows * keys) {}
};

template <int64_t Rows>
HWY_INLINE void attend_rows(const HeadAttention& a, const AttentionScratch& s, int64_t first) {
  for (int64_t r = 0; r < Rows; ++r) {
    const float* const q = a.q + (first + r) * a.q_stride;
    for (int64_t i = 0; i < a.width; ++i) s.queries[r * s.width + i] = a.scale * q[i];
  }
  multiply_rows<Rows>(s.queries, s.width, s.transposed, s.keys, a.width, nullptr, s.scores, s.keys);
  float factors[Rows];
  for (int64_t r = 0; r < Rows; ++r) factors[r] = soften(s.scores + r * s.keys, a.keys);
  // The results take the place of the queries: a head's own columns may be narrower than whole vectors.
  multiply_rows<Rows>(s.scores, s.keys, s.values, s.width, a.keys, factors, s.queries, s.width);
  for (int64_t r = 0; r < Rows; ++r) std::copy_n(s.queries + r * s.width, a.width, a.out + (first + r) * a.out_stride);
}

inline void attend(const HeadAttention& a) {
  const AttentionScratch s(a);
  for (int64_t j = 0; j < a.keys; ++j) {
    const float *const k = a.k + j * a.k_stride, *const v = a.v + j * a.v_stride;
    for (int64_t i = 0; i < a.width; ++i) s.transposed[i * s.keys + j] = k[i];
    std::copy_n(v, a.width, s.values + j * s.width);
  }
  int64_t first = 0;
  for (; first + queries_at_once <= a.queries; first += queries_at_once) attend_rows<queries_at_once>(a, s, first);
  for (; first < a.queries; ++first) attend_rows<1>(a, s, first);
}

}  // namespace l0gm::text_kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
