#pragma once

#include <cstdint>

// The arithmetic of base/random.h, shared by host code and CUDA kernels.
#if defined(__CUDACC__)
#define L0GM_HOST_DEVICE __host__ __device__ __forceinline__
#else
#define L0GM_HOST_DEVICE [[gnu::always_inline]] inline
#endif

namespace l0gm {

struct PhiloxWords {
  uint32_t c0, c1, c2, c3;
};

inline constexpr uint32_t philox_rounds = 10;
inline constexpr uint32_t philox_multiplier_0 = 0xD2511F53, philox_multiplier_1 = 0xCD9E8D57;
inline constexpr uint32_t philox_key_step_0 = 0x9E3779B9, philox_key_step_1 = 0xBB67AE85;

L0GM_HOST_DEVICE PhiloxWords philox_round(PhiloxWords in, uint32_t key_0, uint32_t key_1) {
  const uint64_t product_0 = uint64_t{philox_multiplier_0} * in.c0;
  const uint64_t product_1 = uint64_t{philox_multiplier_1} * in.c2;
  return {static_cast<uint32_t>(product_1 >> 32) ^ in.c1 ^ key_0, static_cast<uint32_t>(product_1),
          static_cast<uint32_t>(product_0 >> 32) ^ in.c3 ^ key_1, static_cast<uint32_t>(product_0)};
}

// The key of a round: the key plus multiples of constants.
L0GM_HOST_DEVICE uint32_t philox_key_0(uint32_t key, uint32_t round) { return key + round * philox_key_step_0; }
L0GM_HOST_DEVICE uint32_t philox_key_1(uint32_t key, uint32_t round) { return key + round * philox_key_step_1; }

// uniform_float without a branch, and through int32_t, which every instruction set can convert to float.
L0GM_HOST_DEVICE float uniform_of_bits(uint32_t bits) {
  const int32_t k = static_cast<int32_t>(bits >> 8);
  return static_cast<float>(k + (k == 0 ? 1 : 0)) * 0x1p-24F;
}

// The random bits of elements 4 block … 4 block + 3 of row `id`, from which fill_uniform makes its numbers.
L0GM_HOST_DEVICE PhiloxWords philox_of_row(uint64_t key, uint64_t id, uint32_t block) {
  PhiloxWords words = {static_cast<uint32_t>(id), static_cast<uint32_t>(id >> 32), block, 0};
  for (uint32_t round = 0; round < philox_rounds; ++round) {
    words = philox_round(words, philox_key_0(static_cast<uint32_t>(key), round),
                         philox_key_1(static_cast<uint32_t>(key >> 32), round));
  }
  return words;
}

}  // namespace l0gm
