#include "data/made/varied_graph.h"

#include <gtest/gtest.h>

#include <set>

#include "data/graph/check_graph.h"

// One graph for each seed, of many kinds; each kind must be what it says.
namespace l0gm {
namespace {

// Share of the edges that join nodes of one class.
double alike(const Graph& graph) {
  double same = 0;
  for (int64_t node = 0; node < graph.nodes; ++node) {
    for (const int32_t other : graph.in_neighbours(node)) same += graph.labels[node] == graph.labels[other] ? 1 : 0;
  }
  return same / static_cast<double>(graph.edges());
}

std::string world_of(const Graph& graph) { return graph.name.substr(graph.name.rfind('/') + 1); }

TEST(VariedGraph, IsSoundOfEveryKindAndAnotherForEachSeed) {
  std::set<std::string> worlds;
  std::set<int64_t> sizes;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    const Graph graph = make_varied_graph(seed);
    check_graph(graph, graph.name);
    EXPECT_GE(graph.nodes, 1900) << seed;
    EXPECT_LE(graph.nodes, 20'000) << seed;
    EXPECT_EQ(static_cast<int64_t>(graph.train.size() + graph.valid.size() + graph.test.size()), graph.nodes);
    EXPECT_GT(graph.valid.size(), graph.classes.size());
    worlds.insert(world_of(graph));
    sizes.insert(graph.nodes);
    const double by_chance = 1 / static_cast<double>(graph.classes.size());
    if (world_of(graph) == "communities") EXPECT_GT(alike(graph), by_chance + 0.15) << seed;
    if (world_of(graph) == "opposites" && graph.classes.size() > 2) EXPECT_LT(alike(graph), by_chance) << seed;
    if (world_of(graph) == "own") EXPECT_NEAR(alike(graph), by_chance, 0.05) << seed;
  }
  EXPECT_EQ(worlds.size(), 6U);
  EXPECT_GT(sizes.size(), 30U);
}

TEST(VariedGraph, IsTheSameForTheSameSeed) {
  const Graph first = make_varied_graph(3), second = make_varied_graph(3);
  EXPECT_TRUE(std::ranges::equal(first.dense.span(), second.dense.span()));
  EXPECT_TRUE(std::ranges::equal(first.neighbours.span(), second.neighbours.span()));
  EXPECT_TRUE(std::ranges::equal(first.labels.span(), second.labels.span()));
}

TEST(VariedGraph, SquaresOfABoardKnowTheMinesAroundThemOrNothing) {
  for (uint64_t seed = 0; seed < 40; ++seed) {
    const Graph graph = make_varied_graph(seed);
    if (world_of(graph) != "mines") continue;
    int64_t unknown = 0, mines = 0;
    for (int64_t node = 0; node < graph.nodes; ++node) {
      int64_t around = 0;
      for (const int32_t other : graph.in_neighbours(node)) around += graph.labels[other];
      const float* const row = graph.dense.data() + node * graph.attributes;
      mines += graph.labels[node];
      if (row[graph.attributes - 1] == 1) {
        ++unknown;
      } else {
        ASSERT_EQ(row[around], 1) << node;
      }
    }
    EXPECT_NEAR(static_cast<double>(unknown) / static_cast<double>(graph.nodes), 0.5, 0.05);
    EXPECT_NEAR(static_cast<double>(mines) / static_cast<double>(graph.nodes), 0.2, 0.05);
  }
}

}  // namespace
}  // namespace l0gm
