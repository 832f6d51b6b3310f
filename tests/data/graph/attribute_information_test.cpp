#include "data/graph/attribute_information.h"

#include <gtest/gtest.h>

#include <cmath>

#include "data/graph/attribute_tools.h"

namespace l0gm {
namespace {

// Four nodes of each of two classes; node 8 is no training node, node 9 has no class.
Graph two_classes(const std::vector<std::vector<float>>& rows, bool sparse) {
  Graph graph = graph_of(rows, {0, 1, 2, 3, 4, 5, 6, 7, 9}, sparse);
  graph.labels = std::vector<int32_t>{0, 0, 0, 0, 1, 1, 1, 1, 1, -1};
  graph.classes = {"a", "b", "never"};
  return graph;
}

TEST(AttributeInformation, PresenceOfAMostlyAbsentAttribute) {
  // Attribute 0: present in three of class a and none of b. 1: in one of each. 2: never. 3: as 0 with other numbers.
  const std::vector<std::vector<float>> rows = {{1, 2, 0, .1F}, {1, 0, 0, -7}, {1, 0, 0, 3}, {0, 0, 0, 0}, {0, 9, 0, 0},
                                                {0, 0, 0, 0},   {0, 0, 0, 0},  {0, 0, 0, 0}, {5, 5, 5, 5}, {1, 1, 1, 1}};
  const double expected = 3.0 / 8 * std::log(2.0) + 1.0 / 8 * std::log(2.0 / 5) + 4.0 / 8 * std::log(8.0 / 5);
  for (const bool sparse : {false, true}) {
    const std::vector<double> found = attribute_information(two_classes(rows, sparse));
    ASSERT_EQ(found.size(), 4u);
    EXPECT_NEAR(found[0], expected, 1e-12);
    EXPECT_NEAR(found[1], 0, 1e-12);
    EXPECT_EQ(found[2], 0);
    EXPECT_NEAR(found[3], expected, 1e-12);
  }
}

TEST(AttributeInformation, BinsOfEqualMass) {
  // 200 training nodes, so 20 in a bin. Attribute 0 rises with the node: bins 0 … 4 are class a, the others b. Attribute 1: the
  // class changes within each bin. Attribute 2: all the same, not 0.
  std::vector<std::vector<float>> rows;
  std::vector<int64_t> train;
  std::vector<int32_t> labels;
  for (int i = 0; i < 200; ++i) {
    const bool second = i >= 100;
    rows.push_back({static_cast<float>(i) + 1, static_cast<float>(2 * (i % 100) + (second ? 1 : 0)) + 1, 3});
    train.push_back(i);
    labels.push_back(second ? 1 : 0);
  }
  for (const bool sparse : {false, true}) {
    Graph graph = graph_of(rows, train, sparse);
    graph.labels = labels;
    graph.classes = {"a", "b"};
    const std::vector<double> found = attribute_information(graph);
    EXPECT_NEAR(found[0], std::log(2.0), 1e-12);
    EXPECT_NEAR(found[1], 0, 1e-12);
    EXPECT_NEAR(found[2], 0, 1e-12);
  }
}

}  // namespace
}  // namespace l0gm
