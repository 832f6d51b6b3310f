// The passes of a batch ensemble, for the instruction set that Highway is compiling.
#if defined(L0GM_HEADS_MEMBER_KERNELS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef L0GM_HEADS_MEMBER_KERNELS_INL
#undef L0GM_HEADS_MEMBER_KERNELS_INL
#else
#define L0GM_HEADS_MEMBER_KERNELS_INL
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <type_traits>

#include "heads/member_kernels.h"

HWY_BEFORE_NAMESPACE();
namespace l0gm::member_kernels_of::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Calls at(tag, i) for whole vectors in [begin, end), then for single numbers.
template <class T, class At>
HWY_INLINE void each_vector(int64_t begin, int64_t end, const At& at) {
  const hn::ScalableTag<T> whole;
  const hn::CappedTag<T, 1> single;
  constexpr int64_t lanes = hn::MaxLanes(whole);
  int64_t i = begin;
  for (; i + lanes <= end; i += lanes) at(whole, i);
  for (; i < end; ++i) at(single, i);
}

template <class D>
HWY_INLINE hn::Vec<D> load_uniform(D tag, const float* from) {
  if constexpr (std::is_same_v<hn::TFromD<D>, float>) {
    return hn::LoadU(tag, from);
  } else {
    return hn::PromoteTo(tag, hn::LoadU(hn::Rebind<float, D>(), from));
  }
}

template <class D>
HWY_INLINE hn::Vec<D> closed(D tag) {
  return hn::Set(tag, static_cast<hn::TFromD<D>>(-0.0));
}

template <class D>
HWY_INLINE auto is_open(D tag, hn::Vec<D> out) {
  const hn::RebindToUnsigned<D> bits;
  return hn::RebindMask(tag, hn::Ne(hn::BitCast(bits, out), hn::BitCast(bits, closed(tag))));
}

// Not `pre > 0`: what is not a number must be seen in the loss.
template <class D, class T>
HWY_INLINE void activate_at(D tag, const MemberActivation<T>& a, const T* z, const float* uniform, T* out, int64_t i) {
  const auto pre = hn::MulAdd(hn::LoadU(tag, z + i), hn::LoadU(tag, a.scale + i), hn::LoadU(tag, a.bias + i));
  auto open = hn::Not(hn::Le(pre, hn::Zero(tag)));
  auto value = pre;
  if (uniform != nullptr) {
    open = hn::And(open, hn::Ge(load_uniform(tag, uniform + i), hn::Set(tag, static_cast<T>(a.share))));
    value = hn::Mul(value, hn::Set(tag, a.kept_scale));
  }
  if (a.next != nullptr) value = hn::Mul(value, hn::LoadU(tag, a.next + i));
  hn::StoreU(hn::IfThenElse(open, value, closed(tag)), tag, out + i);
}

template <class T>
void activate(const MemberActivation<T>& a, const T* z, const float* uniform, T* out) {
  each_vector<T>(0, a.count, [&](auto tag, int64_t i) HWY_ATTR { activate_at(tag, a, z, uniform, out, i); });
}

template <class D, class T>
HWY_INLINE void add_to(D tag, T* sum, hn::Vec<D> more) {
  hn::StoreU(hn::Add(hn::LoadU(tag, sum), more), tag, sum);
}

template <class D, class T>
HWY_INLINE void activate_back_at(D tag, const MemberActivationBack<T>& back, int64_t row, int64_t i) {
  const MemberActivation<T>& a = back.of;
  const int64_t at = row * a.count + i;
  const auto open = is_open(tag, hn::LoadU(tag, back.out + at));
  const auto kept = hn::Set(tag, a.kept_scale), z = hn::LoadU(tag, back.z + at), scale = hn::LoadU(tag, a.scale + i);
  const auto gradient = hn::Mul(hn::IfThenElseZero(open, hn::LoadU(tag, back.gradient + at)), kept);
  auto inner = gradient;  // of z * scale + bias
  if (a.next != nullptr) {
    inner = hn::Mul(gradient, hn::LoadU(tag, a.next + i));
    const auto pre = hn::MulAdd(z, scale, hn::LoadU(tag, a.bias + i));
    if (back.to_next != nullptr) add_to(tag, back.to_next + i, hn::Mul(gradient, pre));
  }
  add_to(tag, back.to_bias + i, inner);
  add_to(tag, back.to_scale + i, hn::Mul(inner, z));
  hn::StoreU(hn::Mul(inner, scale), tag, back.to_z + at);
}

template <class T>
void activate_back(const MemberActivationBack<T>& back, int64_t begin, int64_t end) {
  for (int64_t row = 0; row < back.rows; ++row) {
    each_vector<T>(begin, end, [&](auto tag, int64_t i) HWY_ATTR { activate_back_at(tag, back, row, i); });
  }
}

template <class T>
void inputs_back(const MemberInputsBack<T>& back, int64_t begin, int64_t end) {
  for (int64_t row = 0; row < back.rows; ++row) {
    const T* gradient = back.gradient + row * back.members * back.width;
    each_vector<T>(begin, end, [&](auto tag, int64_t i) HWY_ATTR {
      const auto x = hn::LoadU(tag, back.x + row * back.width + i);
      auto sum = hn::Zero(tag);
      for (int64_t m = 0; m < back.members; ++m) {
        const int64_t at = m * back.width + i;
        const auto given = hn::LoadU(tag, gradient + at);
        sum = hn::MulAdd(given, hn::LoadU(tag, back.factors + at), sum);
        add_to(tag, back.to_factors + at, hn::Mul(given, x));
      }
      hn::StoreU(sum, tag, back.to_x + row * back.width + i);
    });
  }
}

// sum += factor * from, of `count` numbers; returns <from, with>.
template <class T>
HWY_INLINE T add_and_dot(T factor, const T* from, const T* with, int64_t count, T* sum) {
  const hn::ScalableTag<T> tag;
  constexpr int64_t lanes = hn::MaxLanes(tag);
  const auto factors = hn::Set(tag, factor);
  auto products = hn::Zero(tag);
  T rest = 0;
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto given = hn::LoadU(tag, from + i);
    hn::StoreU(hn::MulAdd(factors, given, hn::LoadU(tag, sum + i)), tag, sum + i);
    products = hn::MulAdd(given, hn::LoadU(tag, with + i), products);
  }
  for (; i < count; ++i) {
    sum[i] += factor * from[i];
    rest += from[i] * with[i];
  }
  return rest + hn::GetLane(hn::SumOfLanes(tag, products));
}

template <class T>
void weights_back(const MemberWeightsBack<T>& back, int64_t begin, int64_t end) {
  for (int64_t row = begin; row < end; ++row) {
    const T* weight = back.weight + row * back.width;
    T* to_weight = back.to_weight + row * back.width;
    std::fill_n(to_weight, back.width, T{0});
    for (int64_t m = 0; m < back.members; ++m) {
      const T* gradient = back.gradient + (row * back.members + m) * back.width;
      const int64_t factor = m * back.rows + row;
      back.to_factors[factor] = add_and_dot(back.factors[factor], gradient, weight, back.width, to_weight);
    }
  }
}

}  // namespace l0gm::member_kernels_of::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
