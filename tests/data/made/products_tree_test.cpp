#include "data/made/products_tree.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

namespace l0gm {
namespace {

TEST(ProductsTree, RangesAreNestedAndOfOneKind) {
  Graph graph;
  const ProductsNodes nodes = make_products_nodes(0.02, 0, "", graph);
  const ProductsTree tree = make_products_tree(nodes, 0);
  std::vector<int32_t> sorted = tree.order, all(sorted.size());
  std::sort(sorted.begin(), sorted.end());
  std::iota(all.begin(), all.end(), 0);
  EXPECT_EQ(sorted, all);
  EXPECT_EQ(tree.begins[0], (std::vector<int64_t>{0, graph.nodes}));
  EXPECT_GT(tree.communities(), 200);

  const auto place_in = [&](size_t level, int32_t node, int64_t place) {
    const auto range =
        static_cast<size_t>(tree.range_of_community[level][static_cast<size_t>(tree.community[static_cast<size_t>(node)])]);
    return tree.begins[level][range] <= place && place < tree.begins[level][range + 1];
  };
  for (int64_t place = 0; place < graph.nodes; ++place) {
    for (size_t level = 0; level < ProductsTree::levels; ++level)
      ASSERT_TRUE(place_in(level, tree.order[static_cast<size_t>(place)], place)) << level;
  }
  for (size_t level = 1; level < ProductsTree::levels; ++level) {
    for (size_t range = 0; range + 1 < tree.begins[level].size(); ++range) {
      const auto first = static_cast<size_t>(tree.order[static_cast<size_t>(tree.begins[level][range])]);
      for (int64_t place = tree.begins[level][range]; place < tree.begins[level][range + 1]; ++place) {
        const auto node = static_cast<size_t>(tree.order[static_cast<size_t>(place)]);
        ASSERT_EQ(nodes.apparent[node], nodes.apparent[first]);
        ASSERT_TRUE(level < 2 || nodes.labels[node] == nodes.labels[first]);
      }
    }
  }
}

TEST(ProductsTree, CommunitiesHave50To200NodesWhereThereAreEnough) {
  Graph graph;
  const ProductsNodes nodes = make_products_nodes(0.05, 1, "", graph);
  const ProductsTree tree = make_products_tree(nodes, 1);
  int64_t larger_than_any = 0;
  for (size_t i = 0; i < static_cast<size_t>(tree.communities()); ++i) {
    const int64_t size = tree.begins[3][i + 1] - tree.begins[3][i];
    const auto kind = static_cast<size_t>(tree.range_of_community[2][i]);
    const int64_t kind_size = tree.begins[2][kind + 1] - tree.begins[2][kind];
    EXPECT_TRUE(size >= 50 || size == kind_size) << size << " of " << kind_size;
    EXPECT_LT(size, 250);
    larger_than_any = std::max(larger_than_any, size);
  }
  EXPECT_GT(larger_than_any, 180);
}

}  // namespace
}  // namespace l0gm
