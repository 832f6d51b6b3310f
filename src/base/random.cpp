#include "base/random.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "base/philox.h"

#if defined(__x86_64__) && defined(__GNUC__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"  // GCC 12 warns of undefined vectors in its own header
#include <immintrin.h>
#pragma GCC diagnostic pop
#define L0GM_HAS_AVX_KERNELS 1
#endif

namespace l0gm {
namespace {

// Blocks computed side by side: lane i holds one counter, then its four output words.
constexpr int lane_count = 64;
struct Lanes {
  alignas(64) uint32_t id_low[lane_count];
  alignas(64) uint32_t id_high[lane_count];
  alignas(64) uint32_t block[lane_count];
  alignas(64) float out[4 * lane_count];
};

// Always inlined, and a fold instead of a loop, so that the compiler can vectorise over lanes.
template <uint32_t... rounds>
[[gnu::always_inline]] inline PhiloxWords all_rounds(PhiloxWords words, uint32_t key_0, uint32_t key_1,
                                                     std::integer_sequence<uint32_t, rounds...>) {
  ((words = philox_round(words, philox_key_0(key_0, rounds), philox_key_1(key_1, rounds))), ...);
  return words;
}

void uniform_lanes(uint32_t key_0, uint32_t key_1, Lanes& lanes) {
  for (int i = 0; i < lane_count; ++i) {
    const auto [c0, c1, c2, c3] = all_rounds({lanes.id_low[i], lanes.id_high[i], lanes.block[i], 0}, key_0, key_1,
                                             std::make_integer_sequence<uint32_t, philox_rounds>());
    lanes.out[4 * i + 0] = uniform_of_bits(c0);
    lanes.out[4 * i + 1] = uniform_of_bits(c1);
    lanes.out[4 * i + 2] = uniform_of_bits(c2);
    lanes.out[4 * i + 3] = uniform_of_bits(c3);
  }
}

#ifdef L0GM_HAS_AVX_KERNELS
// Each word is in the low half of a 64-bit lane, where the multiplication reads it; the high halves are not used.
// Several times as fast as the compiled loop above, which packs and unpacks in every round.
__attribute__((target("avx2"))) void uniform_lanes_avx2(uint32_t key_0, uint32_t key_1, Lanes& lanes) {
  const __m256i multiply_0 = _mm256_set1_epi64x(philox_multiplier_0), multiply_1 = _mm256_set1_epi64x(philox_multiplier_1);
  const __m256 scale = _mm256_set1_ps(0x1p-24F);
  for (int i = 0; i < lane_count; i += 4) {
    __m256i c0 = _mm256_cvtepu32_epi64(_mm_load_si128(reinterpret_cast<const __m128i*>(lanes.id_low + i)));
    __m256i c1 = _mm256_cvtepu32_epi64(_mm_load_si128(reinterpret_cast<const __m128i*>(lanes.id_high + i)));
    __m256i c2 = _mm256_cvtepu32_epi64(_mm_load_si128(reinterpret_cast<const __m128i*>(lanes.block + i)));
    __m256i c3 = _mm256_setzero_si256();
    for (uint32_t round = 0; round < philox_rounds; ++round) {
      const __m256i product_0 = _mm256_mul_epu32(c0, multiply_0), product_1 = _mm256_mul_epu32(c2, multiply_1);
      const __m256i k0 = _mm256_set1_epi64x(key_0 + round * philox_key_step_0),
                    k1 = _mm256_set1_epi64x(key_1 + round * philox_key_step_1);
      c0 = _mm256_xor_si256(_mm256_srli_epi64(product_1, 32), _mm256_xor_si256(c1, k0));
      c2 = _mm256_xor_si256(_mm256_srli_epi64(product_0, 32), _mm256_xor_si256(c3, k1));
      c1 = product_1;
      c3 = product_0;
    }
    const __m256i words_01 = _mm256_blend_epi32(c0, _mm256_slli_epi64(c1, 32), 0xAA);
    const __m256i words_23 = _mm256_blend_epi32(c2, _mm256_slli_epi64(c3, 32), 0xAA);
    const __m256i even = _mm256_unpacklo_epi64(words_01, words_23), odd = _mm256_unpackhi_epi64(words_01, words_23);
    const __m256i blocks[2] = {_mm256_permute2x128_si256(even, odd, 0x20), _mm256_permute2x128_si256(even, odd, 0x31)};
    for (int half = 0; half < 2; ++half) {
      const __m256i k = _mm256_max_epi32(_mm256_srli_epi32(blocks[half], 8), _mm256_set1_epi32(1));
      _mm256_store_ps(lanes.out + 4 * i + 8 * half, _mm256_mul_ps(_mm256_cvtepi32_ps(k), scale));
    }
  }
}

// The same, eight counters at a time. GCC 12 warns of its own headers here: a known false alarm.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
__attribute__((target("avx512f"))) void uniform_lanes_avx512(uint32_t key_0, uint32_t key_1, Lanes& lanes) {
  const __m512i multiply_0 = _mm512_set1_epi64(philox_multiplier_0), multiply_1 = _mm512_set1_epi64(philox_multiplier_1);
  const __m512 scale = _mm512_set1_ps(0x1p-24F);
  const __m512i order[2] = {_mm512_setr_epi64(0, 1, 8, 9, 2, 3, 10, 11), _mm512_setr_epi64(4, 5, 12, 13, 6, 7, 14, 15)};
  for (int i = 0; i < lane_count; i += 8) {
    __m512i c0 = _mm512_cvtepu32_epi64(_mm256_load_si256(reinterpret_cast<const __m256i*>(lanes.id_low + i)));
    __m512i c1 = _mm512_cvtepu32_epi64(_mm256_load_si256(reinterpret_cast<const __m256i*>(lanes.id_high + i)));
    __m512i c2 = _mm512_cvtepu32_epi64(_mm256_load_si256(reinterpret_cast<const __m256i*>(lanes.block + i)));
    __m512i c3 = _mm512_setzero_si512();
    for (uint32_t round = 0; round < philox_rounds; ++round) {
      const __m512i product_0 = _mm512_mul_epu32(c0, multiply_0), product_1 = _mm512_mul_epu32(c2, multiply_1);
      const __m512i k0 = _mm512_set1_epi64(key_0 + round * philox_key_step_0),
                    k1 = _mm512_set1_epi64(key_1 + round * philox_key_step_1);
      c0 = _mm512_xor_si512(_mm512_srli_epi64(product_1, 32), _mm512_xor_si512(c1, k0));
      c2 = _mm512_xor_si512(_mm512_srli_epi64(product_0, 32), _mm512_xor_si512(c3, k1));
      c1 = product_1;
      c3 = product_0;
    }
    const __m512i words_01 = _mm512_mask_blend_epi32(0xAAAA, c0, _mm512_slli_epi64(c1, 32));
    const __m512i words_23 = _mm512_mask_blend_epi32(0xAAAA, c2, _mm512_slli_epi64(c3, 32));
    const __m512i even = _mm512_unpacklo_epi64(words_01, words_23), odd = _mm512_unpackhi_epi64(words_01, words_23);
    for (int half = 0; half < 2; ++half) {
      const __m512i words = _mm512_permutex2var_epi64(even, order[half], odd);
      const __m512i k = _mm512_max_epi32(_mm512_srli_epi32(words, 8), _mm512_set1_epi32(1));
      _mm512_store_ps(lanes.out + 4 * i + 16 * half, _mm512_mul_ps(_mm512_cvtepi32_ps(k), scale));
    }
  }
}
#pragma GCC diagnostic pop
#endif

using Kernel = void (*)(uint32_t, uint32_t, Lanes&);

Kernel fastest_kernel() {
#ifdef L0GM_HAS_AVX_KERNELS
  if (__builtin_cpu_supports("avx512f") != 0) return uniform_lanes_avx512;
  if (__builtin_cpu_supports("avx2") != 0) return uniform_lanes_avx2;
#endif
  return uniform_lanes;
}

uint64_t splitmix(uint64_t x) {
  x += 0x9E3779B97F4A7C15U;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9U;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBU;
  return x ^ (x >> 31);
}

uint32_t low_word(uint64_t x) { return static_cast<uint32_t>(x); }
uint32_t high_word(uint64_t x) { return static_cast<uint32_t>(x >> 32); }

void fill_with(Kernel kernel, uint64_t key, const int64_t* ids, int64_t rows, int64_t width, float* out) {
  const int64_t blocks_per_row = (width + 3) / 4;
  Lanes lanes{};
  // Lanes continue across row ends, so that narrow rows fill them as well as wide ones.
  int64_t row = 0, block = 0;
  while (row < rows && width > 0) {
    const int64_t first_row = row, first_block = block;
    for (int filled = 0; filled < lane_count && row < rows;) {
      const int count = static_cast<int>(std::min<int64_t>(lane_count - filled, blocks_per_row - block));
      const uint64_t id = static_cast<uint64_t>(ids[row]);
      std::fill_n(lanes.id_low + filled, count, low_word(id));
      std::fill_n(lanes.id_high + filled, count, high_word(id));
      std::iota(lanes.block + filled, lanes.block + filled + count, static_cast<uint32_t>(block));
      filled += count;
      block += count;
      if (block == blocks_per_row) ++row, block = 0;
    }
    kernel(low_word(key), high_word(key), lanes);
    const float* from = lanes.out;
    for (int64_t r = first_row, b = first_block; r < row || (r == row && b < block); ++r, b = 0) {
      const int64_t last_block = r < row ? blocks_per_row : block;
      const int64_t count = std::min(4 * last_block, width) - 4 * b;
      std::memcpy(out + r * width + 4 * b, from, static_cast<size_t>(count) * sizeof(float));
      from += 4 * (last_block - b);
    }
  }
}

}  // namespace

PhiloxBlock philox(std::array<uint32_t, 2> key, PhiloxBlock counter) {
  const auto [c0, c1, c2, c3] = all_rounds({counter[0], counter[1], counter[2], counter[3]}, key[0], key[1],
                                           std::make_integer_sequence<uint32_t, philox_rounds>());
  return {c0, c1, c2, c3};
}

uint64_t mix_key(uint64_t seed, uint64_t a, uint64_t b, uint64_t c) {
  uint64_t hash = splitmix(seed);
  for (const uint64_t word : {a, b, c}) hash = splitmix(hash ^ splitmix(word + 0xD1B54A32D192ED03U));
  return hash;
}

void fill_uniform(uint64_t key, const int64_t* ids, int64_t rows, int64_t width, float* out) {
  fill_with(fastest_kernel(), key, ids, rows, width, out);
}

void fill_uniform_portable(uint64_t key, const int64_t* ids, int64_t rows, int64_t width, float* out) {
  fill_with(uniform_lanes, key, ids, rows, width, out);
}

uint32_t RandomStream::bits() {
  if (used_ == 4) {
    block_ = philox({low_word(key_), high_word(key_)}, {low_word(counter_), high_word(counter_), 0, 0});
    ++counter_;
    used_ = 0;
  }
  return block_[static_cast<size_t>(used_++)];
}

double RandomStream::uniform() {
  const uint64_t low = bits(), high = bits();
  const uint64_t k = ((high << 32) | low) >> 11;
  return static_cast<double>(k == 0 ? 1 : k) * 0x1p-53;
}

double RandomStream::normal() {
  const double first = uniform(), second = uniform();
  return box_muller(first, second)[0];
}

// Lemire's method; the few draws that would bias the result are rejected.
uint64_t RandomStream::below(uint64_t n) {
  if (n == 0) throw std::invalid_argument("RandomStream::below(n): n is 0, wanted 1 or more");
  __extension__ using Wide = unsigned __int128;
  const uint64_t threshold = (0 - n) % n;
  while (true) {
    const uint64_t low = bits(), high = bits();
    const Wide product = static_cast<Wide>((high << 32) | low) * n;
    if (static_cast<uint64_t>(product) >= threshold) return static_cast<uint64_t>(product >> 64);
  }
}

std::vector<int64_t> RandomStream::permutation(int64_t n) {
  std::vector<int64_t> order(static_cast<size_t>(std::max<int64_t>(n, 0)));
  std::iota(order.begin(), order.end(), 0);
  for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[below(i)]);
  return order;
}

}  // namespace l0gm
