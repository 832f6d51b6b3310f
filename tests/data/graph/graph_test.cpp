#include "data/graph/graph.h"

#include <gtest/gtest.h>

#include "base/random.h"

namespace l0gm {
namespace {

std::vector<int32_t> in_neighbours_of(const Graph& graph, int64_t node) {
  return {graph.in_neighbours(node).begin(), graph.in_neighbours(node).end()};
}

TEST(BuildAdjacency, RowsListInNeighbours) {
  Graph graph;
  graph.nodes = 4;
  build_adjacency(graph, {{0, 2, 2, 1, 0}, {1, 1, 1, 1, 2}}, false);  // 2 -> 1 twice, a loop at 1
  EXPECT_EQ(in_neighbours_of(graph, 0), (std::vector<int32_t>{}));
  EXPECT_EQ(in_neighbours_of(graph, 1), (std::vector<int32_t>{0, 2}));
  EXPECT_EQ(in_neighbours_of(graph, 2), (std::vector<int32_t>{0}));
  EXPECT_EQ(graph.edges(), 3);
  EXPECT_EQ(graph.degree(3), 0);
  EXPECT_FALSE(graph.symmetric);
}

TEST(BuildAdjacency, UndirectedHasBothDirectionsOnce) {
  Graph graph;
  graph.nodes = 4;
  build_adjacency(graph, {{0, 1, 2, 3}, {1, 0, 1, 3}}, true);
  EXPECT_EQ(in_neighbours_of(graph, 0), (std::vector<int32_t>{1}));
  EXPECT_EQ(in_neighbours_of(graph, 1), (std::vector<int32_t>{0, 2}));
  EXPECT_EQ(in_neighbours_of(graph, 2), (std::vector<int32_t>{1}));
  EXPECT_EQ(graph.edges(), 4);
  EXPECT_TRUE(graph.symmetric);
}

TEST(BuildAdjacency, DirectedEdgesThatComeInPairsAreSymmetric) {
  Graph graph;
  graph.nodes = 3;
  build_adjacency(graph, {{0, 1, 2, 1}, {1, 0, 1, 2}}, false);
  EXPECT_TRUE(graph.symmetric);
  build_adjacency(graph, {{0, 1, 2}, {1, 2, 0}}, false);  // a circle: every degree is 1, and still not symmetric
  EXPECT_FALSE(graph.symmetric);
}

// Enough edges for several threads, against an adjacency matrix.
TEST(BuildAdjacency, LargeGraphIsTheSetOfItsEdges) {
  constexpr int64_t nodes = 3000;
  for (const bool undirected : {false, true}) {
    RandomStream random(7);
    EdgeList edges;
    std::vector<std::vector<bool>> wanted(nodes, std::vector<bool>(nodes, false));
    for (int64_t i = 0; i < 1200000; ++i) {
      const auto from = static_cast<int32_t>(random.below(nodes) % (1 + random.below(nodes))),
                 to = static_cast<int32_t>(random.below(nodes));
      edges.from.push_back(from);
      edges.to.push_back(to);
      if (from == to) continue;
      wanted[static_cast<size_t>(to)][static_cast<size_t>(from)] = true;
      if (undirected) wanted[static_cast<size_t>(from)][static_cast<size_t>(to)] = true;
    }
    Graph graph;
    graph.nodes = nodes;
    build_adjacency(graph, std::move(edges), undirected);
    for (int64_t node = 0; node < nodes; ++node) {
      std::vector<int32_t> row;
      for (int32_t other = 0; other < nodes; ++other) {
        if (wanted[static_cast<size_t>(node)][static_cast<size_t>(other)]) row.push_back(other);
      }
      ASSERT_EQ(in_neighbours_of(graph, node), row) << node;
    }
    EXPECT_EQ(graph.symmetric, undirected);
    EXPECT_EQ(is_symmetric(graph), undirected);
  }
}

TEST(BuildAdjacency, NumbersOutOfRangeAreOurMistake) {
  Graph graph;
  graph.nodes = 2;
  EXPECT_THROW(build_adjacency(graph, {{0}, {2}}, true), std::invalid_argument);
  EXPECT_THROW(build_adjacency(graph, {{-1}, {0}}, true), std::invalid_argument);
  EXPECT_THROW(build_adjacency(graph, {{0, 1}, {1}}, true), std::invalid_argument);
}

TEST(BuildAdjacency, NoEdgesAtAll) {
  Graph graph;
  graph.nodes = 2;
  build_adjacency(graph, {}, true);
  EXPECT_EQ(graph.edges(), 0);
  EXPECT_EQ(graph.offsets.size(), 3);
}

TEST(Graph, Names) {
  Graph graph;
  EXPECT_EQ(graph.node_name(7), "7");
  EXPECT_EQ(graph.attribute_name(2), "2");
  graph.node_names = {"a", "b"};
  graph.attribute_names = {"x"};
  EXPECT_EQ(graph.node_name(1), "b");
  EXPECT_EQ(graph.attribute_name(0), "x");
}

}  // namespace
}  // namespace l0gm
