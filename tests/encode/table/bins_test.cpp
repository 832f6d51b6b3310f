#include "encode/table/bins.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "base/random.h"

namespace l0gm {
namespace {

TEST(Position, ZeroAtTheLowerEdgeOneAtTheUpper) {
  EXPECT_EQ(position(2, 2, 6), 0.0);
  EXPECT_EQ(position(6, 2, 6), 1.0);
  EXPECT_EQ(position(3, 2, 6), 0.25);
  EXPECT_EQ(position(-2, 2, 6), -1.0);
  const double most = std::numeric_limits<double>::max();
  EXPECT_EQ(position(0, -most, most), 0.5);
  EXPECT_EQ(position(3, 5, 5), 0.0);  // no width
}

TEST(EdgesUpTo, AgreesWithTheStandardSearch) {
  RandomStream random(4);
  for (size_t size = 0; size < 70; ++size) {
    std::vector<double> edges;
    for (size_t i = 0; i < size; ++i) edges.push_back(random.normal());
    std::sort(edges.begin(), edges.end());
    std::vector<double> values = edges;
    for (int i = 0; i < 50; ++i) values.push_back(random.normal());
    for (const double extreme : {-0.0, 0.0, 1e308, -1e308, double{INFINITY}, -double{INFINITY}}) values.push_back(extreme);
    for (const double value : values) {
      const auto wanted = std::upper_bound(edges.begin(), edges.end(), value) - edges.begin();
      ASSERT_EQ(edges_up_to(edges, value), static_cast<size_t>(wanted)) << size << " edges, " << value;
    }
  }
}

TEST(Piecewise, BinAndPositionInsideIt) {
  const auto expect = [](double value, int32_t code, float slope) {
    const CodeAndSlope found = piecewise(std::vector<double>{0, 10, 30}, value);
    EXPECT_EQ(found.code, code) << value;
    EXPECT_EQ(found.slope, slope) << value;
  };
  expect(0, 1, 0.0F);
  expect(5, 1, 0.5F);
  expect(10, 2, 0.0F);
  expect(30, 2, 1.0F);
  expect(50, 2, 2.0F);
  expect(1e300, 2, 3.0F);
  expect(-INFINITY, 1, -2.0F);
  EXPECT_EQ(piecewise(std::vector<double>{0, 4}, 1).code, 1);
  EXPECT_EQ(piecewise(std::vector<double>{0, 4}, 1).slope, 0.25F);
}

}  // namespace
}  // namespace l0gm
