#include "base/random.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <stdexcept>

namespace l0gm {
namespace {

// Known answers of Random123.
TEST(Philox, KnownAnswers) {
  constexpr uint32_t all = 0xffffffff;
  EXPECT_EQ(philox({0, 0}, {0, 0, 0, 0}), (PhiloxBlock{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox({all, all}, {all, all, all, all}), (PhiloxBlock{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox({0xa4093822, 0x299f31d0}, {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}),
            (PhiloxBlock{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(UniformFloat, EndsStayInsideTheOpenInterval) {
  EXPECT_EQ(uniform_float(0), 0x1p-24F);
  EXPECT_EQ(uniform_float(255), 0x1p-24F);
  EXPECT_EQ(uniform_float(256), 0x1p-24F);
  EXPECT_EQ(uniform_float(512), 0x1p-23F);
  EXPECT_EQ(uniform_float(0xffffffff), 1.0F - 0x1p-24F);
}

using Fill = void (*)(uint64_t, const int64_t*, int64_t, int64_t, float*);
class FillUniform : public testing::TestWithParam<Fill> {};

TEST_P(FillUniform, EachElementIsThePhiloxOfItsKeyIdAndColumn) {
  const uint64_t key = 0x0123456789abcdef;
  for (const int64_t width : {1, 2, 3, 4, 5, 63, 64, 255, 256, 257, 460, 1027}) {
    const std::vector<int64_t> ids = {0, 7, -1, int64_t{1} << 40, std::numeric_limits<int64_t>::min(), 7};
    const int64_t rows = static_cast<int64_t>(ids.size());
    std::vector<float> out(static_cast<size_t>(rows * width) + 1, -1.0F);
    GetParam()(key, ids.data(), rows, width, out.data());
    for (int64_t row = 0; row < rows; ++row) {
      const auto id = static_cast<uint64_t>(ids[static_cast<size_t>(row)]);
      for (int64_t j = 0; j < width; ++j) {
        const PhiloxBlock block = philox({0x89abcdef, 0x01234567}, {static_cast<uint32_t>(id), static_cast<uint32_t>(id >> 32),
                                                                    static_cast<uint32_t>(j / 4), 0});
        ASSERT_EQ(out[static_cast<size_t>(row * width + j)], uniform_float(block[static_cast<size_t>(j % 4)]))
            << "width " << width << " row " << row << " column " << j;
      }
    }
    EXPECT_EQ(out.back(), -1.0F) << "wrote past the end, width " << width;
  }
}

TEST_P(FillUniform, NothingToFill) {
  const int64_t id = 3;
  float out = -1.0F;
  GetParam()(1, &id, 0, 5, &out);
  GetParam()(1, &id, 1, 0, &out);
  EXPECT_EQ(out, -1.0F);
}

TEST_P(FillUniform, MeanAndVarianceOfAUniform) {
  std::vector<int64_t> ids(1000);
  for (size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<int64_t>(i);
  std::vector<float> out(ids.size() * 100);
  GetParam()(42, ids.data(), 1000, 100, out.data());
  double sum = 0, squares = 0;
  for (const float u : out) {
    ASSERT_GT(u, 0.0F);
    ASSERT_LT(u, 1.0F);
    sum += u;
    squares += (u - 0.5) * (u - 0.5);
  }
  const auto n = static_cast<double>(out.size());
  EXPECT_NEAR(sum / n, 0.5, 5 * std::sqrt(1 / 12.0 / n));
  EXPECT_NEAR(squares / n, 1 / 12.0, 5 * std::sqrt(1 / 180.0 / n));
}

INSTANTIATE_TEST_SUITE_P(Kernels, FillUniform, testing::Values(&fill_uniform, &fill_uniform_portable));

TEST(MixKey, EveryArgumentAndTheirOrderMatter) {
  std::set<uint64_t> keys;
  for (uint64_t seed = 0; seed < 6; ++seed) {
    for (uint64_t a = 0; a < 6; ++a) {
      for (uint64_t b = 0; b < 6; ++b) {
        for (uint64_t c = 0; c < 6; ++c) keys.insert(mix_key(seed, a, b, c));
      }
    }
  }
  EXPECT_EQ(keys.size(), 6U * 6 * 6 * 6);
  EXPECT_EQ(mix_key(1, 2), mix_key(1, 2, 0, 0));
}

TEST(RandomStream, IsPhiloxInCounterOrder) {
  const uint64_t key = mix_key(5, 9);
  RandomStream stream(5, 9);
  for (uint32_t counter = 0; counter < 3; ++counter) {
    const PhiloxBlock block = philox({static_cast<uint32_t>(key), static_cast<uint32_t>(key >> 32)}, {counter, 0, 0, 0});
    for (const uint32_t word : block) EXPECT_EQ(stream.bits(), word);
  }
  EXPECT_NE(RandomStream(5, 9).bits(), RandomStream(5, 10).bits());
  EXPECT_NE(RandomStream(5, 9).bits(), RandomStream(6, 9).bits());
}

TEST(RandomStream, BelowIsEvenAndInRange) {
  RandomStream stream(1);
  std::array<int, 7> counts{};
  for (int i = 0; i < 70000; ++i) {
    const uint64_t value = stream.below(7);
    ASSERT_LT(value, 7U);
    ++counts[value];
  }
  for (const int count : counts) EXPECT_NEAR(count, 10000, 5 * std::sqrt(10000.0 * 6 / 7));
  EXPECT_EQ(stream.below(1), 0U);
  EXPECT_THROW(stream.below(0), std::invalid_argument);
}

// With n = 3/4 of 2^64, multiplication without rejection gives every third value twice as often.
TEST(RandomStream, BelowRejectsWhatWouldBiasIt) {
  RandomStream stream(2);
  const uint64_t n = uint64_t{3} << 62;
  std::array<int, 3> counts{};
  for (int i = 0; i < 30000; ++i) ++counts[stream.below(n) % 3];
  for (const int count : counts) EXPECT_NEAR(count, 10000, 500);
}

TEST(RandomStream, NormalHasMeanZeroAndVarianceOne) {
  RandomStream stream(3);
  const int n = 100000;
  double sum = 0, squares = 0;
  for (int i = 0; i < n; ++i) {
    const double x = stream.normal();
    ASSERT_TRUE(std::isfinite(x));
    sum += x;
    squares += x * x;
  }
  EXPECT_NEAR(sum / n, 0, 5 / std::sqrt(n));
  EXPECT_NEAR(squares / n, 1, 5 * std::sqrt(2.0 / n));
}

TEST(RandomStream, PermutationHoldsEachNumberOnceAndAllOrdersAreLikely) {
  std::vector<int64_t> order = RandomStream(4).permutation(1000);
  EXPECT_EQ(order, RandomStream(4).permutation(1000));
  EXPECT_FALSE(std::is_sorted(order.begin(), order.end()));
  std::sort(order.begin(), order.end());
  for (size_t i = 0; i < order.size(); ++i) ASSERT_EQ(order[i], static_cast<int64_t>(i));
  EXPECT_TRUE(RandomStream(4).permutation(0).empty());
  EXPECT_EQ(RandomStream(4).permutation(1), std::vector<int64_t>{0});

  RandomStream stream(5);
  std::map<std::vector<int64_t>, int> counts;
  for (int i = 0; i < 6000; ++i) ++counts[stream.permutation(3)];
  EXPECT_EQ(counts.size(), 6U);
  for (const auto& [which, count] : counts) EXPECT_NEAR(count, 1000, 150);
}

}  // namespace
}  // namespace l0gm
