#include "encode/table/number_column.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "encode/table/schema.h"

namespace l0gm {
namespace {

struct Result {
  std::vector<int32_t> codes = std::vector<int32_t>(5, -7);
  std::vector<float> slopes = std::vector<float>(5, -7.0F);
};

const std::vector<Field> fields = {
    {.name = "a", .kind = FieldKind::piecewise, .edges = {-10, 0, 10, 30}},
    {.name = "b", .kind = FieldKind::exact, .values = {12, 0, 2.5}},
    {.name = "c", .kind = FieldKind::plain, .mean = 0, .deviation = 4},
    {.name = "d", .kind = FieldKind::exact, .values = {2.5, 40}},  // its own values
};

Result encode(double value) {
  NumberColumn column(3);
  const int64_t slots[] = {4, 0, 2, 1};  // slot 3 is another column's
  for (size_t i = 0; i < fields.size(); ++i) column.add(fields[i], slots[i]);
  column.compute_known();
  EXPECT_EQ(column.column(), 3U);
  Result result;
  column.encode(value, result.codes.data(), result.slopes.data());
  return result;
}

TEST(NumberColumn, KnownValues) {
  EXPECT_EQ(encode(12).codes, (std::vector<int32_t>{2, 1, 1, -7, 3}));
  EXPECT_EQ(encode(12).slopes, (std::vector<float>{0, 0, 3, -7, 0.1F}));
  EXPECT_EQ(encode(2.5).codes, (std::vector<int32_t>{4, 2, 1, -7, 2}));
  EXPECT_EQ(encode(2.5).slopes, (std::vector<float>{0, 0, 0.625F, -7, 0.25F}));
}

TEST(NumberColumn, OtherValues) {
  EXPECT_EQ(encode(40).codes, (std::vector<int32_t>{1, 3, 1, -7, 3}));
  EXPECT_EQ(encode(40).slopes, (std::vector<float>{0, 0, 8, -7, 1.5F}));
  EXPECT_EQ(encode(-5).codes, (std::vector<int32_t>{1, 1, 1, -7, 1}));
  EXPECT_EQ(encode(-5).slopes, (std::vector<float>{0, 0, -1.25F, -7, 0.5F}));
  EXPECT_EQ(encode(-INFINITY).slopes, (std::vector<float>{0, 0, -8, -7, -2}));
}

TEST(NumberColumn, NaNIsMissing) {
  EXPECT_EQ(encode(NAN).codes, (std::vector<int32_t>{0, 0, 0, -7, 0}));
  EXPECT_EQ(encode(NAN).slopes, (std::vector<float>{0, 0, 0, -7, 0}));
}

TEST(NumberColumn, TheSignOfZeroIsKeptAsTheFormulaKeepsIt) {
  EXPECT_EQ(encode(-0.0).codes, encode(0.0).codes);
  EXPECT_FALSE(std::signbit(encode(0.0).slopes[2]));
  EXPECT_TRUE(std::signbit(encode(-0.0).slopes[2]));
}

TEST(NumberColumn, WithoutExactValuesNothingIsKnown) {
  NumberColumn column(0);
  column.add(fields[0], 0);
  column.compute_known();
  int32_t code = -1;
  float slope = -1;
  column.encode(15, &code, &slope);
  EXPECT_EQ(code, 3);
  EXPECT_EQ(slope, 0.25F);
}

}  // namespace
}  // namespace l0gm
