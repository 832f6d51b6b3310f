#include "encode/table/number_codes.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <unordered_map>

#include "base/random.h"

namespace l0gm {
namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();
const std::vector<double> unknown_values = {NAN, -NAN,   infinite, -infinite, 1e300,  -1e300,  5e-324, -5e-324,
                                            0.5, -1e-20, 0x1p31,   -0x1p31,   0x1p63, -0x1p63, 0x1p64, 12345678};

void expect_unknown_unseen(const NumberCodes& codes) {
  for (const double value : unknown_values) EXPECT_EQ(codes.code(value), 1) << value;
}

TEST(NumberCodes, WholeNumbersCloseTogether) {
  const NumberCodes codes(std::vector<double>{3, 0, -60, 3, 4});
  EXPECT_EQ(codes.code(3), 2);
  EXPECT_EQ(codes.code(0), 3);
  EXPECT_EQ(codes.code(-0.0), 3);
  EXPECT_EQ(codes.code(-60), 4);
  EXPECT_EQ(codes.code(4), 6);
  for (const double value :
       {1.0, 2.0, -61.0, 5.0, -59.0, 3.5, -59.999999999999993, std::nextafter(3.0, 4.0), std::nextafter(-60.0, -61.0)}) {
    EXPECT_EQ(codes.code(value), 1) << value;
  }
  expect_unknown_unseen(codes);
}

TEST(NumberCodes, AnyNumbers) {
  const NumberCodes codes(std::vector<double>{0.25, -0.0, 1e299, -1e18, 0.0, 7});
  EXPECT_EQ(codes.code(0.25), 2);
  EXPECT_EQ(codes.code(0.0), 3);
  EXPECT_EQ(codes.code(-0.0), 3);
  EXPECT_EQ(codes.code(1e299), 4);
  EXPECT_EQ(codes.code(-1e18), 5);
  EXPECT_EQ(codes.code(7), 7);
  EXPECT_EQ(codes.code(std::nextafter(7.0, 8.0)), 1);
  expect_unknown_unseen(codes);
}

TEST(NumberCodes, NothingIsKnownWithoutValues) {
  expect_unknown_unseen(NumberCodes());
  EXPECT_EQ(NumberCodes().code(0), 1);
  EXPECT_EQ(NumberCodes(std::vector<double>{}).code(0), 1);
}

TEST(NumberCodes, OneValueAndHugeOnes) {
  for (const double value :
       {0.0, 1.0, -1.0, 0x1p53, 0x1p53 - 1, 1 - 0x1p53, 0x1p63, -0x1p63, 1e308, infinite, -infinite, 5e-324}) {
    const NumberCodes codes(std::vector<double>{value});
    EXPECT_EQ(codes.code(value), 2) << value;
    EXPECT_EQ(codes.code(std::nextafter(value, 0.125)), 1) << value;
    EXPECT_EQ(codes.code(NAN), 1) << value;
  }
  const NumberCodes codes(std::vector<double>{NAN, 1.5});  // what is not a number is never known
  EXPECT_EQ(codes.code(NAN), 1);
  EXPECT_EQ(codes.code(1.5), 3);
}

TEST(NumberCodes, AgreesWithAnOrdinaryMapAtEverySpan) {
  RandomStream random(8);
  for (const double span : {10.0, 255.0, 300.0, 65535.0, 65536.0, 70000.0, 1e7, 1e15}) {
    for (const double step : {1.0, 0.5}) {
      for (const double low : {0.0, -span / 2, 1e6, 0x1p53 - 40000}) {
        std::vector<double> values;
        std::unordered_map<double, int32_t> wanted;
        const auto draw = [&] {
          return std::floor(low) + step * static_cast<double>(random.below(static_cast<uint64_t>(span / step) + 1));
        };
        for (int i = 0; i < 2000; ++i) {
          values.push_back(draw());
          wanted.emplace(values.back(), i + 2);
        }
        const NumberCodes codes(values);
        for (const double value : values) ASSERT_EQ(codes.code(value), wanted.at(value));
        for (int i = 0; i < 2000; ++i) {
          const double value = i % 2 == 0 ? draw() : draw() + 0.25;
          const auto found = wanted.find(value);
          ASSERT_EQ(codes.code(value), found == wanted.end() ? 1 : found->second) << value << " span " << span;
        }
      }
    }
  }
}

}  // namespace
}  // namespace l0gm
