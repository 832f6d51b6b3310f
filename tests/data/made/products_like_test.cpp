#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "data/graph/check_graph.h"
#include "data/made/products_like.h"

namespace l0gm {
namespace {

// 49,000 nodes and 2.5 million edges: seconds.
const Graph& small() {
  static const Graph graph = make_products_like(0.02, 0, "");
  return graph;
}

double homophily(const Graph& graph, const std::vector<int64_t>& nodes) {  // mean over nodes that have neighbours
  double sum = 0, count = 0;
  for (const int64_t node : nodes) {
    if (graph.degree(node) == 0) continue;
    double same = 0;
    for (const int32_t other : graph.in_neighbours(node)) same += graph.labels[other] == graph.labels[node] ? 1 : 0;
    sum += same / static_cast<double>(graph.degree(node));
    ++count;
  }
  return sum / count;
}

TEST(ProductsLike, IsAGraphWithoutLoopsAndDuplicates) {
  const Graph& graph = small();
  check_graph(graph, "products-like");
  EXPECT_TRUE(graph.symmetric);
  EXPECT_EQ(graph.nodes, 48'981);
  EXPECT_EQ(graph.attributes, 100);
  EXPECT_EQ(graph.dense.size(), graph.nodes * 100);
  for (int64_t node = 0; node < graph.nodes; ++node) {
    for (const int32_t other : graph.in_neighbours(node)) {
      const auto row = graph.in_neighbours(other);
      ASSERT_TRUE(std::binary_search(row.begin(), row.end(), static_cast<int32_t>(node)));
    }
  }
}

TEST(ProductsLike, DegreesAreThoseOfTheRealGraph) {
  const Graph& graph = small();
  EXPECT_NEAR(static_cast<double>(graph.edges()) / (0.02 * 123'718'152), 1, 0.01);
  std::vector<double> degrees;
  double logs = 0, squares = 0, connected = 0;
  for (int64_t node = 0; node < graph.nodes; ++node) {
    degrees.push_back(static_cast<double>(graph.degree(node)));
    if (graph.degree(node) == 0) continue;
    logs += std::log(degrees.back());
    squares += std::log(degrees.back()) * std::log(degrees.back());
    ++connected;
  }
  EXPECT_LT(connected, static_cast<double>(graph.nodes));  // isolated nodes exist
  EXPECT_GT(connected, 0.98 * static_cast<double>(graph.nodes));
  std::nth_element(degrees.begin(), degrees.begin() + graph.nodes / 2, degrees.end());
  EXPECT_NEAR(degrees[static_cast<size_t>(graph.nodes / 2)], 24, 2);
  EXPECT_NEAR(std::sqrt(squares / connected - std::pow(logs / connected, 2)), 1.24, 0.06);
  EXPECT_LE(*std::max_element(degrees.begin(), degrees.end()), static_cast<double>(graph.nodes) / 3);
}

TEST(ProductsLike, HomophilyFallsWithTheRank) {
  const Graph& graph = small();
  double same = 0;
  std::vector<int64_t> all;
  for (int64_t node = 0; node < graph.nodes; ++node) {
    all.push_back(node);
    for (const int32_t other : graph.in_neighbours(node)) same += graph.labels[other] == graph.labels[node] ? 1 : 0;
  }
  EXPECT_NEAR(same / static_cast<double>(graph.edges()), 0.79,
              0.025);  // .808 at full size, where ranges are large enough for hubs
  EXPECT_NEAR(homophily(graph, all), 0.825, 0.025);
  EXPECT_GT(homophily(graph, graph.valid), homophily(graph, graph.test) + 0.02);
}

// The nearest mean of a class's training nodes, with the class's share as prior.
TEST(ProductsLike, AttributesAreLessInformativeForTestNodes) {
  const Graph& graph = small();
  std::vector<double> mean(47 * 100, 0), count(47, 0);
  for (const int64_t node : graph.train) {
    ++count[static_cast<size_t>(graph.labels[node])];
    for (int64_t j = 0; j < 100; ++j) mean[static_cast<size_t>(graph.labels[node] * 100 + j)] += graph.dense[node * 100 + j];
  }
  const auto accuracy = [&](const std::vector<int64_t>& nodes) {
    double right = 0, looked_at = 0;
    for (size_t i = 0; i < nodes.size(); i += 1 + nodes.size() / 2000) {
      int32_t best = 0;
      double best_score = -1e300;
      for (int32_t label = 0; label < 47; ++label) {
        const double there = count[static_cast<size_t>(label)];
        if (there < 5) continue;
        double score = std::log(there);
        for (int64_t j = 0; j < 100; ++j) {
          const double difference = graph.dense[nodes[i] * 100 + j] - mean[static_cast<size_t>(label * 100 + j)] / there;
          score -= 0.5 * difference * difference;
        }
        if (score > best_score) best_score = score, best = label;
      }
      right += best == graph.labels[nodes[i]] ? 1 : 0;
      ++looked_at;
    }
    return right / looked_at;
  };
  const double valid = accuracy(graph.valid), test = accuracy(graph.test);
  EXPECT_NEAR(valid, 0.75, 0.06);
  EXPECT_NEAR(test, 0.59, 0.06);
}

TEST(ProductsLike, TheSeedDecidesAll) {
  const Graph one = make_products_like(0.002, 1, ""), again = make_products_like(0.002, 1, ""),
              two = make_products_like(0.002, 2, "");
  EXPECT_TRUE(std::ranges::equal(one.offsets, again.offsets));
  EXPECT_TRUE(std::ranges::equal(one.neighbours, again.neighbours));
  EXPECT_TRUE(std::ranges::equal(one.dense, again.dense));
  EXPECT_TRUE(std::ranges::equal(one.labels, again.labels));
  EXPECT_FALSE(std::ranges::equal(one.neighbours, two.neighbours));
  EXPECT_FALSE(std::ranges::equal(one.dense, two.dense));
  check_graph(make_products_like(0.0001, 0, ""), "products-like");  // 245 nodes
}

}  // namespace
}  // namespace l0gm
