#include "data/graph/links.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "base/random.h"
#include "l0gm/error.h"

namespace l0gm {
namespace {

// Edges (from, to), anywhere.
Graph graph_of(int64_t nodes, const std::vector<std::pair<int, int>>& edges, bool undirected = true) {
  Graph graph;
  graph.name = "small";
  graph.nodes = nodes;
  EdgeList list;
  for (const auto& [from, to] : edges) {
    list.from.push_back(from);
    list.to.push_back(to);
  }
  build_adjacency(graph, std::move(list), undirected);
  return graph;
}

Graph random_graph(int64_t nodes, int64_t edges, uint64_t seed, bool undirected = true) {
  RandomStream random(seed);
  std::vector<std::pair<int, int>> list;
  for (int64_t i = 0; i < edges; ++i) {
    const auto node = [&] { return static_cast<int>(random.below(static_cast<uint64_t>(nodes))); };
    const int from = node();
    list.emplace_back(from, node());
  }
  return graph_of(nodes, list, undirected);
}

std::set<Link> set_of(const std::vector<Link>& links) { return {links.begin(), links.end()}; }

// Every pair by asking for it, with nothing but the rows.
std::set<Link> links_one_by_one(const Graph& graph) {
  std::set<Link> links;
  for (int64_t v = 0; v < graph.nodes; ++v) {
    for (const int32_t u : graph.in_neighbours(v))
      links.insert({std::min(u, static_cast<int32_t>(v)), std::max(u, static_cast<int32_t>(v))});
  }
  return links;
}

TEST(Links, EveryPairOnceInEitherDirection) {
  const Graph directed = graph_of(5, {{0, 1}, {1, 0}, {3, 1}, {2, 4}}, false);
  ASSERT_FALSE(directed.symmetric);
  EXPECT_EQ(links_of(directed), (std::vector<Link>{{0, 1}, {1, 3}, {2, 4}}));
  EXPECT_EQ(links_of(graph_of(5, {{0, 1}, {1, 0}, {3, 1}, {2, 4}})), (std::vector<Link>{{0, 1}, {1, 3}, {2, 4}}));
  for (const bool undirected : {true, false}) {
    const Graph graph = random_graph(60, 400, 1, undirected);
    const std::vector<Link> links = links_of(graph);
    EXPECT_TRUE(std::is_sorted(links.begin(), links.end()));
    const std::set<Link> wanted = links_one_by_one(graph);
    EXPECT_EQ(set_of(links), wanted);
    EXPECT_EQ(links.size(), wanted.size());
    for (int32_t a = 0; a < 60; ++a) {
      for (int32_t b = a + 1; b < 60; ++b) {
        EXPECT_EQ(is_linked(graph, a, b), wanted.contains({a, b}));
        EXPECT_EQ(is_linked(graph, b, a), wanted.contains({a, b}));
      }
    }
  }
}

TEST(Links, SplitSharesOutEveryLinkOnce) {
  for (const bool undirected : {true, false}) {
    const Graph graph = random_graph(100, 1000, 2, undirected);
    const auto links = links_of(graph);
    const LinkSplit split = split_links(graph, 0.05, 0.1, 7);
    const auto total = static_cast<double>(links.size());
    EXPECT_EQ(static_cast<int64_t>(split.valid.size()), std::llround(0.05 * total));
    EXPECT_EQ(static_cast<int64_t>(split.test.size()), std::llround(0.1 * total));
    std::vector<Link> all = split.train;
    all.insert(all.end(), split.valid.begin(), split.valid.end());
    all.insert(all.end(), split.test.begin(), split.test.end());
    std::sort(all.begin(), all.end());
    EXPECT_EQ(all, links) << "none twice, none lost";
  }
}

TEST(Links, SplitFollowsItsSeed) {
  const Graph graph = random_graph(100, 1000, 2);
  EXPECT_EQ(split_links(graph, 0.05, 0.1, 7).test, split_links(graph, 0.05, 0.1, 7).test);
  EXPECT_NE(split_links(graph, 0.05, 0.1, 7).test, split_links(graph, 0.05, 0.1, 8).test);
}

TEST(Links, AnEmptyPartIsRefused) {
  const Graph graph = random_graph(30, 100, 3);
  EXPECT_THROW(split_links(graph, 0.001, 0.1, 0), UserError);
  EXPECT_THROW(split_links(graph, 0.1, 0.001, 0), UserError);
  try {
    split_links(graph, 0.5, 0.5, 0);
    FAIL();
  } catch (const UserError& error) {
    EXPECT_NE(std::string(error.what()).find("leave 0 for training"), std::string::npos) << error.what();
  }
}

TEST(Links, HeldOutLinksAreNotInTheMessageGraph) {
  for (const bool undirected : {true, false}) {
    const Graph graph = random_graph(80, 700, 4, undirected);
    const LinkSplit split = split_links(graph, 0.1, 0.2, 0);
    std::vector<Link> held_out = split.valid;
    held_out.insert(held_out.end(), split.test.begin(), split.test.end());
    const Graph left = without_links(graph, held_out);
    EXPECT_EQ(left.symmetric, graph.symmetric);
    EXPECT_EQ(links_one_by_one(left), set_of(split.train)) << "those of training, and no others";
    for (int64_t v = 0; v < left.nodes; ++v) {
      EXPECT_TRUE(std::is_sorted(left.in_neighbours(v).begin(), left.in_neighbours(v).end()));
      for (const int32_t u : left.in_neighbours(v)) {
        EXPECT_TRUE(std::ranges::binary_search(graph.in_neighbours(v), u)) << "no direction that was not there";
      }
    }
    EXPECT_EQ(is_symmetric(left), undirected);
    EXPECT_EQ(graph.edges(), random_graph(80, 700, 4, undirected).edges()) << "the graph itself is as it was";
  }
}

TEST(Links, TheStepsOwnLinksAreNotInItsBlock) {
  const Graph graph = graph_of(6, {{0, 1}, {1, 2}, {2, 3}, {0, 3}, {4, 0}});
  const auto block = block_without_links(graph, std::vector<Link>{{0, 3}, {1, 2}, {2, 5}});  // the last is no link
  EXPECT_EQ(std::vector<int64_t>(block->offsets.begin(), block->offsets.end()), (std::vector<int64_t>{0, 2, 3, 4, 5, 6, 6}));
  EXPECT_EQ(std::vector<int32_t>(block->neighbours.begin(), block->neighbours.end()), (std::vector<int32_t>{1, 4, 0, 3, 2, 0}));
  EXPECT_EQ(std::vector<float>(block->target_degree.begin(), block->target_degree.end()), (std::vector<float>{2, 1, 1, 1, 1, 0}))
      << "counted anew";
  EXPECT_EQ(std::vector<float>(block->source_degree.begin(), block->source_degree.end()), (std::vector<float>{2, 1, 1, 1, 1, 0}));
  EXPECT_TRUE(block->symmetric);
  EXPECT_EQ(block_without_links(graph, {})->neighbours.size(), graph.edges());
  const auto all = links_of(graph);
  EXPECT_EQ(block_without_links(graph, all)->neighbours.size(), 0);
}

TEST(Links, OthersOfAStepMayBeDroppedAsWell) {
  const Graph graph = random_graph(200, 3000, 5);
  const auto links = links_of(graph);
  const std::vector<Link> asked(links.begin(), links.begin() + 500);
  const auto block = block_without_links(graph, asked, 0.4, 9);
  const auto kept = static_cast<double>(block->neighbours.size()), before = static_cast<double>(graph.edges() - 1000);
  EXPECT_NEAR(kept / before, 0.6, 0.05);
  std::set<Link> left;
  for (int64_t v = 0; v < 200; ++v) {
    for (int64_t e = block->offsets[v]; e < block->offsets[v + 1]; ++e) {
      const auto u = block->neighbours[e];
      left.insert({std::min(u, static_cast<int32_t>(v)), std::max(u, static_cast<int32_t>(v))});
    }
  }
  for (const Link& link : asked) EXPECT_FALSE(left.contains(link));
}

TEST(Links, DrawnPairsAreDifferentAndNotLinked) {
  for (const bool undirected : {true, false}) {
    const Graph graph = random_graph(50, 300, 6, undirected);
    const std::set<Link> linked = links_one_by_one(graph);
    const UnlinkedPairs pairs(graph);
    EXPECT_EQ(pairs.count(), 50 * 49 / 2 - static_cast<int64_t>(linked.size()));
    const std::vector<Link> drawn = pairs.draw(600, 1);
    EXPECT_EQ(drawn.size(), 600U);
    EXPECT_EQ(set_of(drawn).size(), 600U);
    for (const Link& pair : drawn) {
      EXPECT_LT(pair.first, pair.second);
      EXPECT_FALSE(linked.contains(pair));
    }
    EXPECT_EQ(drawn, pairs.draw(600, 1));
    EXPECT_NE(drawn, pairs.draw(600, 2));
  }
}

TEST(Links, EveryPairCanBeDrawnAndNoMore) {
  const Graph graph = random_graph(20, 120, 7);
  const UnlinkedPairs pairs(graph);
  EXPECT_EQ(static_cast<int64_t>(set_of(pairs.draw(pairs.count(), 0)).size()), pairs.count());
  EXPECT_THROW(pairs.draw(pairs.count() + 1, 0), UserError);
}

TEST(Links, DrawnPairsAreUniform) {
  const Graph graph = graph_of(6, {{0, 1}, {2, 3}, {4, 5}});  // 12 pairs are left
  const UnlinkedPairs pairs(graph);
  std::map<Link, int> times;
  constexpr int draws = 12000;
  for (int i = 0; i < draws; ++i) ++times[pairs.draw(1, static_cast<uint64_t>(i)).front()];
  ASSERT_EQ(times.size(), 12U);
  double chi_square = 0;
  for (const auto& [pair, count] : times) chi_square += std::pow(count - draws / 12.0, 2) / (draws / 12.0);
  EXPECT_LT(chi_square, 31.3) << "11 degrees of freedom: one in a thousand";
}

TEST(Links, NegativesShareANodeWithTheLink) {
  const Graph graph = random_graph(40, 200, 8);
  const UnlinkedPairs pairs(graph);
  for (const Link& link : links_of(graph)) {
    const auto negatives = pairs.negatives_for(link, 30, 3);
    EXPECT_EQ(negatives.end, link.first);
    ASSERT_EQ(negatives.nodes.size(), 30U);
    for (const int32_t node : negatives.nodes) {
      EXPECT_NE(node, link.first);
      EXPECT_FALSE(is_linked(graph, link.first, node));
    }
    EXPECT_EQ(negatives.nodes, pairs.negatives_for(link, 30, 3).nodes);
    EXPECT_NE(negatives.nodes, pairs.negatives_for(link, 30, 4).nodes);
  }
}

TEST(Links, AHubRanksFromItsOtherEnd) {
  std::vector<std::pair<int, int>> star;
  for (int leaf = 1; leaf < 10; ++leaf) star.emplace_back(0, leaf);
  const Graph hub = graph_of(10, star);
  const auto negatives = UnlinkedPairs(hub).negatives_for({0, 4}, 200, 0);
  EXPECT_EQ(negatives.end, 4);
  EXPECT_EQ(std::set<int32_t>(negatives.nodes.begin(), negatives.nodes.end()), (std::set<int32_t>{1, 2, 3, 5, 6, 7, 8, 9}));

  std::vector<std::pair<int, int>> nearly;  // node 0 is linked to all but the last of a thousand
  for (int leaf = 1; leaf < 999; ++leaf) nearly.emplace_back(0, leaf);
  const Graph almost = graph_of(1000, nearly);
  const auto rare = UnlinkedPairs(almost).negatives_for({0, 4}, 20, 0);
  EXPECT_EQ(rare.end, 0);
  EXPECT_EQ(rare.nodes, std::vector<int32_t>(20, 999));

  EXPECT_THROW(UnlinkedPairs(graph_of(3, {{0, 1}, {1, 2}, {0, 2}})).negatives_for({0, 1}, 5, 0), UserError);
}

}  // namespace
}  // namespace l0gm
