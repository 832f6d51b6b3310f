// Norms, activations and roundings of rows, for the instruction set that Highway is compiling.
#if defined(L0GM_RUNTIME_TEXT_KERNELS_ROWS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef L0GM_RUNTIME_TEXT_KERNELS_ROWS_INL
#undef L0GM_RUNTIME_TEXT_KERNELS_ROWS_INL
#else
#define L0GM_RUNTIME_TEXT_KERNELS_ROWS_INL
#endif

#include <hwy/highway.h>

#include <cmath>

#include "runtime/kernels_load_inl.h"
#include "runtime/text/text_kernels.h"

HWY_BEFORE_NAMESPACE();
namespace l0gm::text_kernels::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using kernels::HWY_NAMESPACE::Bfloat16;
using kernels::HWY_NAMESPACE::Floats;
using kernels::HWY_NAMESPACE::Vector;
using kernels::HWY_NAMESPACE::vector_lanes;

HWY_INLINE Vector number(float value) { return hn::Set(Floats(), value); }
// Lanes of the vector at `i` that belong to a row of this width; in the others there may be anything.
HWY_INLINE auto inside(int64_t i, int64_t width) { return hn::FirstN(Floats(), static_cast<size_t>(width - i)); }

// e^x for x up to 88, within 3e-7 of the value; below -87 as if it were -87.
HWY_INLINE Vector exp_of(Vector x) {
  const hn::RebindToSigned<Floats> integers;
  x = hn::Max(x, number(-87.0F));
  const Vector n = hn::Round(hn::Mul(x, number(1.44269504F)));
  // ln 2 in two parts, so that no digit of the remainder is lost.
  const Vector r = hn::NegMulAdd(n, number(-2.12194440e-4F), hn::NegMulAdd(n, number(0.693359375F), x));
  Vector p = number(1.0F / 720);
  p = hn::MulAdd(p, r, number(1.0F / 120));
  p = hn::MulAdd(p, r, number(1.0F / 24));
  p = hn::MulAdd(p, r, number(1.0F / 6));
  p = hn::MulAdd(p, r, number(0.5F));
  p = hn::MulAdd(p, r, number(1.0F));
  p = hn::MulAdd(p, r, number(1.0F));
  const auto power = hn::ShiftLeft<23>(hn::Add(hn::ConvertTo(integers, n), hn::Set(integers, 127)));
  return hn::Mul(p, hn::BitCast(Floats(), power));
}

struct Identity {
  HWY_INLINE Vector operator()(Vector x) const { return x; }
};
struct Relu {
  HWY_INLINE Vector operator()(Vector x) const { return hn::Max(x, number(0)); }
};
// x (1 + erf(x / sqrt 2)) / 2, by Abramowitz and Stegun's 7.1.26: the error function within 1.5e-7.
struct Gelu {
  HWY_INLINE Vector operator()(Vector x) const {
    const Vector z = hn::Mul(hn::Abs(x), number(0.707106781F));
    const Vector t = hn::Div(number(1), hn::MulAdd(z, number(0.3275911F), number(1)));
    Vector p = number(1.061405429F / 2);
    p = hn::MulAdd(p, t, number(-1.453152027F / 2));
    p = hn::MulAdd(p, t, number(1.421413741F / 2));
    p = hn::MulAdd(p, t, number(-0.284496736F / 2));
    p = hn::MulAdd(p, t, number(0.254829592F / 2));
    const Vector rest = hn::Mul(hn::Mul(p, t), exp_of(hn::Neg(hn::Mul(z, z))));  // (1 - erf(z)) / 2
    return hn::Mul(x, hn::IfThenElse(hn::Lt(x, number(0)), rest, hn::Sub(number(1), rest)));
  }
};
// x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2 = x / (1 + e^-2(…)).
struct GeluTanh {
  HWY_INLINE Vector operator()(Vector x) const {
    const Vector cubic = hn::MulAdd(hn::Mul(number(0.044715F), hn::Mul(x, x)), x, x);
    const Vector exponent = hn::Min(hn::Mul(cubic, number(-2 * 0.797884561F)), number(88));
    return hn::Div(x, hn::Add(number(1), exp_of(exponent)));
  }
};

struct FloatProducts {
  const float* values;
  HWY_INLINE FloatProducts(const Products& products, int64_t row)
      : values(static_cast<const float*>(products.values) + row * products.stride) {}
  HWY_INLINE Vector load(int64_t i) const { return hn::Load(Floats(), values + i); }
};
struct IntegerProducts {
  const int32_t* values;
  const Products& all;
  Vector scale, offset;
  HWY_INLINE IntegerProducts(const Products& products, int64_t row)
      : values(static_cast<const int32_t*>(products.values) + row * products.stride),
        all(products),
        scale(number(products.row_scales[row])),
        offset(number(products.row_scales[row] * products.row_zeros[row])) {}
  HWY_INLINE Vector load(int64_t i) const {
    const hn::RebindToSigned<Floats> integers;
    const Vector sum = hn::ConvertTo(Floats(), hn::Load(integers, values + i));
    const Vector shifted = hn::NegMulAdd(offset, hn::Load(Floats(), all.column_offsets + i), hn::Load(Floats(), all.bias + i));
    return hn::MulAdd(hn::Mul(sum, scale), hn::Load(Floats(), all.column_scales + i), shifted);
  }
};

template <class Source, class Activate>
HWY_INLINE void activate_rows(const Activated& a, Activate activate) {
  for (int64_t row = 0; row < a.rows; ++row) {
    const Source source(a.products, row);
    float* const out = a.out + row * a.stride;
    for (int64_t i = 0; i < a.width; i += vector_lanes) hn::Store(activate(source.load(i)), Floats(), out + i);
  }
}

template <class Activate>
void activated(const Activated& a) {
  if (a.products.integers) {
    activate_rows<IntegerProducts>(a, Activate());
  } else {
    activate_rows<FloatProducts>(a, Activate());
  }
}

HWY_INLINE float sum_of(Vector vector) { return hn::GetLane(hn::SumOfLanes(Floats(), vector)); }

// The row becomes its own norm; `total`: the sum of its numbers, lane by lane.
HWY_INLINE void norm_row(float* row, int64_t width, Vector total, const Norm& norm) {
  const Vector mean = number(sum_of(total) / static_cast<float>(width));
  Vector squares = number(0);
  for (int64_t i = 0; i < width; i += vector_lanes) {
    const Vector centred = hn::IfThenElseZero(inside(i, width), hn::Sub(hn::Load(Floats(), row + i), mean));
    squares = hn::MulAdd(centred, centred, squares);
  }
  const Vector factor = number(1 / std::sqrt(sum_of(squares) / static_cast<float>(width) + norm.epsilon));
  for (int64_t i = 0; i < width; i += vector_lanes) {
    const Vector centred = hn::Sub(hn::Load(Floats(), row + i), mean);
    const Vector scaled = hn::Mul(centred, hn::Mul(factor, hn::Load(Floats(), norm.weight + i)));
    hn::Store(hn::Add(scaled, hn::Load(Floats(), norm.bias + i)), Floats(), row + i);
  }
}

template <class Source>
HWY_INLINE void norm_rows(const NormOfSum& n) {
  for (int64_t row = 0; row < n.rows; ++row) {
    const Source source(n.products, row);
    float* const state = n.states + row * n.stride;
    Vector total = number(0);
    for (int64_t i = 0; i < n.width; i += vector_lanes) {
      const Vector x = hn::Add(hn::Load(Floats(), state + i), source.load(i));
      hn::Store(x, Floats(), state + i);
      total = hn::Add(total, hn::IfThenElseZero(inside(i, n.width), x));
    }
    norm_row(state, n.width, total, n.norm);
  }
}

inline void norm_of_sum(const NormOfSum& n) {
  if (n.products.integers) {
    norm_rows<IntegerProducts>(n);
  } else {
    norm_rows<FloatProducts>(n);
  }
}

template <class T>
void embed(const Embedded& e) {
  const T* const word = static_cast<const T*>(e.word);
  const Vector scale = number(e.scale);
  Vector total = number(0);
  for (int64_t i = 0; i < e.width; i += vector_lanes) {
    const Vector x = hn::MulAdd(kernels::HWY_NAMESPACE::load(word + i), scale, hn::Load(Floats(), e.position + i));
    hn::Store(x, Floats(), e.state + i);
    total = hn::Add(total, hn::IfThenElseZero(inside(i, e.width), x));
  }
  norm_row(e.state, e.width, total, e.norm);
}

inline void quantise(const Quantised& q) {
  const hn::Rebind<uint8_t, Floats> bytes;
  const hn::RebindToSigned<Floats> integers;
  for (int64_t row = 0; row < q.rows; ++row) {
    const float* const in = q.in + row * q.in_stride;
    Vector low = number(0), high = number(0);  // 0 is always within the range
    for (int64_t i = 0; i < q.width; i += vector_lanes) {
      const Vector x = hn::IfThenElseZero(inside(i, q.width), hn::Load(Floats(), in + i));
      low = hn::Min(low, x);
      high = hn::Max(high, x);
    }
    const float least = hn::GetLane(hn::MinOfLanes(Floats(), low)), most = hn::GetLane(hn::MaxOfLanes(Floats(), high));
    const float scale = most > least ? (most - least) / 255 : 1, zero = std::round(-least / scale);
    q.row_scales[row] = scale;
    q.row_zeros[row] = zero;
    const Vector inverse = number(1 / scale), shift = number(zero);
    uint8_t* const out = q.out + row * q.out_stride;
    for (int64_t i = 0; i < q.width; i += vector_lanes) {
      const Vector x = hn::MulAdd(hn::Load(Floats(), in + i), inverse, shift);
      const auto whole = hn::NearestInt(hn::Min(hn::Max(x, number(0)), number(255)));
      hn::Store(hn::DemoteTo(bytes, hn::BitCast(integers, whole)), bytes, out + i);
    }
  }
}

// To nearest, ties to even; numbers are finite.
inline void round_rows(const Rounded& r) {
  const hn::Rebind<uint16_t, Floats> halves;
  const hn::RebindToUnsigned<Floats> words;
  const hn::RebindToSigned<Floats> integers;
  for (int64_t row = 0; row < r.rows; ++row) {
    const float* const in = r.in + row * r.in_stride;
    uint16_t* const out = r.out + row * r.out_stride;
    for (int64_t i = 0; i < r.width; i += vector_lanes) {
      const auto bits = hn::BitCast(words, hn::Load(Floats(), in + i));
      const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(words, 1));
      const auto rounded = hn::ShiftRight<16>(hn::Add(bits, hn::Add(odd, hn::Set(words, 0x7FFF))));
      hn::Store(hn::DemoteTo(halves, hn::BitCast(integers, rounded)), halves, out + i);
    }
  }
}

inline void add_rows(const RowSum& s) {
  for (int64_t row = 0; row < s.rows; ++row) {
    const float* const in = s.in + row * s.stride;
    for (int64_t i = 0; i < s.width; i += vector_lanes) {
      hn::Store(hn::Add(hn::Load(Floats(), s.sum + i), hn::Load(Floats(), in + i)), Floats(), s.sum + i);
    }
  }
}

}  // namespace l0gm::text_kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
