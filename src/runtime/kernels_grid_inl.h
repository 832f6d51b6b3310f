// Pairs and CIN of the grid, for the instruction set that Highway is compiling. Lanes are coordinates.
#if defined(L0GM_RUNTIME_KERNELS_GRID_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef L0GM_RUNTIME_KERNELS_GRID_INL
#undef L0GM_RUNTIME_KERNELS_GRID_INL
#else
#define L0GM_RUNTIME_KERNELS_GRID_INL
#endif

#include <hwy/highway.h>

#include "runtime/kernels.h"
#include "runtime/kernels_load_inl.h"

HWY_BEFORE_NAMESPACE();
namespace l0gm::kernels::HWY_NAMESPACE {

// Each field times the sum of the fields before it: as fast as (sum)^2 - sum of squares, without its loss of digits.
HWY_INLINE Vector plain_pairs(const Grid& grid, int64_t coordinate) {
  Vector before = hn::Zero(Floats()), sum = before;
  for (int64_t i = 0; i < grid.fields; ++i) {
    const Vector value = hn::Load(Floats(), grid.values + i * grid.width + coordinate);
    sum = hn::MulAdd(value, before, sum);
    before = hn::Add(before, value);
  }
  return sum;
}

HWY_INLINE Vector weighted_pairs(const Grid& grid, int64_t coordinate, const float* weights) {
  Vector sum = hn::Zero(Floats());
  for (int64_t i = 0; i < grid.fields; ++i) {
    Vector partners = hn::Zero(Floats());
    for (int64_t j = i + 1; j < grid.fields; ++j, ++weights) {
      partners = hn::MulAdd(hn::Set(Floats(), *weights), hn::Load(Floats(), grid.values + j * grid.width + coordinate), partners);
    }
    sum = hn::MulAdd(hn::Load(Floats(), grid.values + i * grid.width + coordinate), partners, sum);
  }
  return sum;
}

inline float pairs(const Grid& grid, const float* weights, const float* coordinates) {
  Vector sum = hn::Zero(Floats());
  for (int64_t c = 0; c < grid.width; c += vector_lanes) {
    const Vector part = weights == nullptr ? plain_pairs(grid, c) : weighted_pairs(grid, c, weights);
    sum = coordinates == nullptr ? hn::Add(sum, part) : hn::MulAdd(part, hn::Load(Floats(), coordinates + c), sum);
  }
  return sum_of_lanes(sum);
}

// `count` maps from `first` on, of the coordinates from `coordinate` on.
template <class T, int count>
HWY_INLINE void cin_tile(const CinDepth& depth, int64_t first, int64_t coordinate) {
  const int64_t fields = depth.grid.fields, width = depth.grid.width;
  Vector sum[count];
  for (int h = 0; h < count; ++h) sum[h] = hn::Zero(Floats());
  const T* weights = reinterpret_cast<const T*>(depth.weights) + first;
  for (int64_t i = 0; i < depth.maps_before; ++i) {
    const Vector previous = hn::Load(Floats(), depth.previous + i * width + coordinate);
    for (int64_t j = 0; j < fields; ++j, weights += depth.weight_stride) {
      const Vector product = hn::Mul(previous, hn::Load(Floats(), depth.grid.values + j * width + coordinate));
      const Vector factor = hn::Mul(product, hn::Set(Floats(), scaled<T>(1.0F, depth.scales, i * fields + j)));
      for (int h = 0; h < count; ++h) sum[h] = hn::MulAdd(hn::Set(Floats(), load_one(weights + h)), factor, sum[h]);
    }
  }
  for (int h = 0; h < count; ++h) hn::Store(sum[h], Floats(), depth.out + (first + h) * width + coordinate);
}

template <class T, int count>
HWY_NOINLINE void cin_strip(const CinDepth& depth, int64_t first) {
  for (int64_t c = 0; c < depth.grid.width; c += vector_lanes) cin_tile<T, count>(depth, first, c);
}

template <class T>
void cin_depth(const CinDepth& depth) {
  constexpr int most = 8;
  int64_t first = 0;
  for (; first + most <= depth.maps; first += most) cin_strip<T, most>(depth, first);
  for (; first < depth.maps; ++first) cin_strip<T, 1>(depth, first);
}

inline float cin_pooled(const float* maps, int64_t count, int64_t width, const float* weights) {
  Vector sum = hn::Zero(Floats());
  for (int64_t h = 0; h < count; ++h) {
    const Vector weight = hn::Set(Floats(), weights[h]);
    for (int64_t c = 0; c < width; c += vector_lanes) sum = hn::MulAdd(weight, hn::Load(Floats(), maps + h * width + c), sum);
  }
  return sum_of_lanes(sum);
}

inline float cin_last(const Grid& grid, const float* previous, int64_t maps, const float* weights) {
  Vector sum = hn::Zero(Floats());
  for (int64_t c = 0; c < grid.width; c += vector_lanes) {
    for (int64_t i = 0; i < maps; ++i) {
      Vector partners = hn::Zero(Floats());
      for (int64_t j = 0; j < grid.fields; ++j) {
        const Vector weight = hn::Set(Floats(), weights[i * grid.fields + j]);
        partners = hn::MulAdd(weight, hn::Load(Floats(), grid.values + j * grid.width + c), partners);
      }
      sum = hn::MulAdd(hn::Load(Floats(), previous + i * grid.width + c), partners, sum);
    }
  }
  return sum_of_lanes(sum);
}

}  // namespace l0gm::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
