#include "data/graph/number_lines.h"

#include <gtest/gtest.h>

namespace l0gm {
namespace {

TEST(ParseNumbers, NumbersAndTheColumnToBlame) {
  std::vector<float> numbers;
  size_t column = 0;
  EXPECT_TRUE(parse_numbers("1,-2.5, +3 ,1e-3,1e-60", numbers, column));
  EXPECT_EQ(numbers, (std::vector<float>{1, -2.5, 3, 1e-3F, 0}));
  const auto blamed = [&](std::string_view line) {
    EXPECT_FALSE(parse_numbers(line, numbers, column)) << line;
    return column;
  };
  EXPECT_EQ(blamed("1,nan,2"), 1u);
  EXPECT_EQ(blamed("inf"), 0u);
  EXPECT_EQ(blamed("1,2,1e60"), 2u);
  EXPECT_EQ(blamed("1,,2"), 1u);
  EXPECT_EQ(blamed("1,2,"), 2u);
  EXPECT_EQ(blamed("1,2x"), 1u);
  EXPECT_EQ(blamed(""), 0u);
}

TEST(ParsePair, TwoWholeNumbers) {
  int64_t first = 0, second = 0;
  EXPECT_TRUE(parse_pair("12,34", first, second));
  EXPECT_EQ(first, 12);
  EXPECT_EQ(second, 34);
  EXPECT_TRUE(parse_pair(" 5 , -6", first, second));
  EXPECT_EQ(first, 5);
  EXPECT_EQ(second, -6);
  for (const char* line : {"", "1", "1,", ",1", "1,2,3", "a,b", "1.5,2", "1;2"})
    EXPECT_FALSE(parse_pair(line, first, second)) << line;
}

}  // namespace
}  // namespace l0gm
