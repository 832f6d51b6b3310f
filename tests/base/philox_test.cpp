#include "base/philox.h"

#include <gtest/gtest.h>

#include <limits>

#include "base/random.h"

namespace l0gm {
namespace {

constexpr uint64_t keys[] = {0, 1, 0x0123456789abcdef, 0xffffffff00000000, std::numeric_limits<uint64_t>::max()};
constexpr int64_t row_ids[] = {0, 1, 7, -1, (int64_t{1} << 32) - 1, int64_t{1} << 32, std::numeric_limits<int64_t>::min()};

PhiloxBlock block_of(PhiloxWords words) { return {words.c0, words.c1, words.c2, words.c3}; }

TEST(PhiloxOfRow, IsPhiloxOfTheRowsNumberAndTheBlock) {
  for (const uint64_t key : keys) {
    for (const int64_t id : row_ids) {
      const auto number = static_cast<uint64_t>(id);
      for (const uint32_t block : {0U, 1U, 1000U, 0xffffffffU}) {
        EXPECT_EQ(block_of(philox_of_row(key, number, block)),
                  philox({static_cast<uint32_t>(key), static_cast<uint32_t>(key >> 32)},
                         {static_cast<uint32_t>(number), static_cast<uint32_t>(number >> 32), block, 0}))
            << key << " " << id << " " << block;
      }
    }
  }
}

TEST(PhiloxOfRow, MakesTheNumbersOfFillUniform) {
  constexpr int64_t width = 11;
  for (const uint64_t key : keys) {
    float numbers[std::size(row_ids) * width];
    fill_uniform(key, row_ids, std::size(row_ids), width, numbers);
    for (size_t row = 0; row < std::size(row_ids); ++row) {
      for (uint32_t j = 0; j < width; ++j) {
        const PhiloxBlock words = block_of(philox_of_row(key, static_cast<uint64_t>(row_ids[row]), j / 4));
        EXPECT_EQ(numbers[row * width + j], uniform_of_bits(words[j % 4])) << "key " << key << " row " << row << " column " << j;
      }
    }
  }
}

TEST(PhiloxRound, TenOfThemWithMovingKeysAreTheKnownAnswer) {
  PhiloxWords words = {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344};  // Random123's
  for (uint32_t round = 0; round < philox_rounds; ++round) {
    words = philox_round(words, philox_key_0(0xa4093822, round), philox_key_1(0x299f31d0, round));
  }
  EXPECT_EQ(block_of(words), (PhiloxBlock{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(UniformOfBits, IsUniformFloatToTheLastBit) {
  for (const uint32_t bits : {0U, 1U, 255U, 256U, 257U, 511U, 512U, 0x7fffffffU, 0x80000000U, 0xffffff00U, 0xffffffffU}) {
    EXPECT_EQ(uniform_of_bits(bits), uniform_float(bits)) << bits;
  }
  for (uint32_t i = 0; i < 100000; ++i) {
    const uint32_t bits = philox({1, 2}, {i, 0, 0, 0})[0];
    ASSERT_EQ(uniform_of_bits(bits), uniform_float(bits)) << bits;
  }
}

}  // namespace
}  // namespace l0gm
