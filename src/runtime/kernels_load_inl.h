// Loads stored numbers as vectors of float, for the instruction set that Highway is compiling.
#if defined(L0GM_RUNTIME_KERNELS_LOAD_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef L0GM_RUNTIME_KERNELS_LOAD_INL
#undef L0GM_RUNTIME_KERNELS_LOAD_INL
#else
#define L0GM_RUNTIME_KERNELS_LOAD_INL
#endif

#include <hwy/highway.h>

#include <bit>
#include <type_traits>

#include "runtime/kernels.h"

HWY_BEFORE_NAMESPACE();
namespace l0gm::kernels::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using Floats = hn::ScalableTag<float>;
using Vector = hn::Vec<Floats>;
constexpr int64_t vector_lanes = hn::MaxLanes(Floats());
static_assert(lanes % vector_lanes == 0, "rows are padded for vectors of 64 bytes");

enum class Bfloat16 : uint16_t {};  // bits; the upper half of a float

HWY_INLINE Vector load(const float* from) { return hn::Load(Floats(), from); }

HWY_INLINE Vector load(const Bfloat16* from) {
  const hn::Rebind<uint16_t, Floats> halves;
  const hn::Rebind<uint32_t, Floats> words;
  const auto bits = hn::PromoteTo(words, hn::Load(halves, reinterpret_cast<const uint16_t*>(from)));
  return hn::BitCast(Floats(), hn::ShiftLeft<16>(bits));
}

HWY_INLINE Vector load(const int8_t* from) {
  const hn::Rebind<int8_t, Floats> bytes;
  const hn::Rebind<int32_t, Floats> words;
  return hn::ConvertTo(Floats(), hn::PromoteTo(words, hn::Load(bytes, from)));
}

HWY_INLINE float load_one(const float* from) { return *from; }
HWY_INLINE float load_one(const Bfloat16* from) { return std::bit_cast<float>(static_cast<uint32_t>(*from) << 16); }
HWY_INLINE float load_one(const int8_t* from) { return static_cast<float>(*from); }

template <class T>
constexpr bool has_scales = std::is_same_v<T, int8_t>;

// A factor of row k of a table, with the row's scale where it has one.
template <class T>
HWY_INLINE float scaled(float factor, const float* scales, int64_t k) {
  if constexpr (has_scales<T>) return factor * scales[k];
  return factor;
}

HWY_INLINE float sum_of_lanes(Vector vector) { return hn::GetLane(hn::SumOfLanes(Floats(), vector)); }

}  // namespace l0gm::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
