#include "data/graph/attribute_statistics.h"

#include <gtest/gtest.h>

#include <cmath>

#include "data/graph/attribute_tools.h"

namespace l0gm {
namespace {

const std::vector<std::vector<float>> rows = {{1, 0, 5, -2}, {3, 0, 5, 0}, {100, 100, 100, 100}, {2, 6, 5, 0}};

TEST(AttributeStatistics, AreThoseOfTrainingNodesZerosIncluded) {
  for (const bool sparse : {false, true}) {
    const AttributeStatistics found = attribute_statistics(graph_of(rows, {0, 1, 3}, sparse));
    EXPECT_EQ(found.low, (std::vector<float>{1, 0, 5, -2})) << sparse;
    EXPECT_EQ(found.high, (std::vector<float>{3, 6, 5, 0})) << sparse;
    const std::vector<double> mean = {2, 2, 5, -2.0 / 3}, squares = {2, 24, 0, 8.0 / 3};
    for (size_t j = 0; j < 4; ++j) {
      EXPECT_NEAR(found.mean[j], mean[j], 1e-12) << j;
      EXPECT_NEAR(found.deviation[j], std::sqrt(squares[j] / 3), 1e-12) << j;
    }
  }
}

TEST(AttributeStatistics, ARowIsTheSameHoweverItIsStored) {
  for (const bool sparse : {false, true}) EXPECT_EQ(row_of(graph_of(rows, {0}, sparse), 1), rows[1]);
}

}  // namespace
}  // namespace l0gm
