#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <vector>

namespace l0gm {

// Counter-based random numbers (Philox 4x32-10): a pure function of key and counter, so that results depend neither on
// how a batch is split over processes nor on threads, and a resumed run needs no generator state.
using PhiloxBlock = std::array<uint32_t, 4>;
PhiloxBlock philox(std::array<uint32_t, 2> key, PhiloxBlock counter);

// One 64-bit key out of several numbers (a strong mix; the order matters).
uint64_t mix_key(uint64_t seed, uint64_t a, uint64_t b = 0, uint64_t c = 0);

// 24 random bits as a float in [2^-24, 1 - 2^-24].
inline float uniform_float(uint32_t bits) {
  const uint32_t k = bits >> 8;
  return static_cast<float>(k == 0 ? 1 : k) * 0x1p-24F;
}

// Fills out[row * width + j] for rows with the given ids: element (id, j) depends only on key, id and j.
void fill_uniform(uint64_t key, const int64_t* ids, int64_t rows, int64_t width, float* out);
// The same numbers without AVX2 or AVX-512: used on other processors, and compared in tests.
void fill_uniform_portable(uint64_t key, const int64_t* ids, int64_t rows, int64_t width, float* out);

// Two independent standard normal numbers out of two uniform ones in (0, 1).
template <class Real>
std::array<Real, 2> box_muller(Real first, Real second) {
  const Real radius = std::sqrt(-2 * std::log(first)), angle = 2 * std::numbers::pi_v<Real> * second;
  return {radius * std::cos(angle), radius * std::sin(angle)};
}

// A sequence for host code (splits, shuffles, generators).
class RandomStream {
 public:
  explicit RandomStream(uint64_t seed, uint64_t stream = 0) : key_(mix_key(seed, stream)) {}
  uint32_t bits();
  double uniform();  // in (0, 1), 53 bits
  double normal();
  uint64_t below(uint64_t n);  // 0 … n-1, unbiased
  std::vector<int64_t> permutation(int64_t n);

 private:
  uint64_t key_;
  uint64_t counter_ = 0;
  PhiloxBlock block_{};
  int used_ = 4;
};

}  // namespace l0gm
