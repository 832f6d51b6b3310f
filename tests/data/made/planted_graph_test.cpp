#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "data/graph/attribute_information.h"
#include "data/graph/attributes.h"
#include "data/graph/check_graph.h"
#include "data/made/planted_graph.h"
#include "l0gm/error.h"

namespace l0gm {
namespace {

const Graph& full_size() {
  static const Graph graph = make_planted_graph(20'000, 0);
  return graph;
}

std::vector<float> column(const Graph& graph, int64_t attribute) {
  std::vector<float> values;
  for (int64_t i = 0; i < graph.nodes; ++i) values.push_back(graph.dense[i * graph.attributes + attribute]);
  return values;
}

double correlation(const std::vector<float>& a, const std::vector<float>& b) {
  const auto count = static_cast<double>(a.size());
  const double mean_a = std::accumulate(a.begin(), a.end(), 0.0) / count,
               mean_b = std::accumulate(b.begin(), b.end(), 0.0) / count;
  double ab = 0, aa = 0, bb = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    ab += (a[i] - mean_a) * (b[i] - mean_b);
    aa += (a[i] - mean_a) * (a[i] - mean_a);
    bb += (b[i] - mean_b) * (b[i] - mean_b);
  }
  return ab / std::sqrt(aa * bb);
}

// The graph with attributes averaged twice over a node and its neighbours.
Graph aggregated_twice(const Graph& graph) {
  std::vector<float> values(graph.dense.begin(), graph.dense.end());
  const auto width = static_cast<size_t>(graph.attributes);
  for (int time = 0; time < 2; ++time) {
    std::vector<float> next = values;
    for (int64_t node = 0; node < graph.nodes; ++node) {
      float* row = next.data() + static_cast<size_t>(node) * width;
      for (const int32_t other : graph.in_neighbours(node)) {
        for (size_t j = 0; j < width; ++j) row[j] += values[static_cast<size_t>(other) * width + j];
      }
      for (size_t j = 0; j < width; ++j) row[j] /= static_cast<float>(graph.degree(node) + 1);
    }
    values = std::move(next);
  }
  Graph result = graph;
  result.dense = std::move(values);
  return result;
}

// Accuracy on test nodes of the nearest class mean, the attributes named left in.
double nearest_mean_accuracy(const Graph& graph, const std::vector<int64_t>& attributes) {
  std::vector<std::array<double, 4>> mean(attributes.size(), std::array<double, 4>{});
  std::array<double, 4> count{};
  for (const int64_t node : graph.train) ++count[static_cast<size_t>(graph.labels[node])];
  const auto value = [&](int64_t node, size_t j) {
    return static_cast<double>(graph.dense[node * graph.attributes + attributes[j]]);
  };
  std::vector<double> spread(attributes.size(), 0);
  for (size_t j = 0; j < attributes.size(); ++j) {
    for (const int64_t node : graph.train)
      mean[j][static_cast<size_t>(graph.labels[node])] += value(node, j) / count[static_cast<size_t>(graph.labels[node])];
    for (const int64_t node : graph.train)
      spread[j] += std::pow(value(node, j) - mean[j][static_cast<size_t>(graph.labels[node])], 2);
  }
  int64_t right = 0;
  for (const int64_t node : graph.test) {
    std::array<double, 4> distance{};
    for (size_t c = 0; c < 4; ++c) {
      for (size_t j = 0; j < attributes.size(); ++j) distance[c] += std::pow(value(node, j) - mean[j][c], 2) / spread[j];
    }
    right += std::min_element(distance.begin(), distance.end()) - distance.begin() == graph.labels[node] ? 1 : 0;
  }
  return static_cast<double>(right) / static_cast<double>(graph.test.size());
}

std::vector<int64_t> planted_numbers(const Graph& graph) {
  std::vector<int64_t> numbers;
  for (const std::string& name : graph.planted) numbers.push_back(std::stoll(name.substr(1)));
  return numbers;
}

TEST(PlantedGraph, HasTheShapeThatWasAskedFor) {
  const Graph& graph = full_size();
  check_graph(graph, "planted-graph");
  EXPECT_TRUE(graph.symmetric);
  EXPECT_EQ(graph.attributes, 32);
  EXPECT_EQ(graph.attribute_names.back(), "a31");
  EXPECT_EQ(graph.planted.size(), 8u);
  EXPECT_EQ(graph.classes.size(), 4u);
  EXPECT_EQ(graph.train.size(), 12'000u);
  EXPECT_EQ(graph.valid.size(), 4'000u);
  EXPECT_EQ(graph.test.size(), 4'000u);
  EXPECT_NEAR(static_cast<double>(graph.edges()) / 20'000, 12, 0.1);
  int64_t same = 0;
  for (int64_t node = 0; node < graph.nodes; ++node) {
    for (const int32_t other : graph.in_neighbours(node)) same += graph.labels[node] == graph.labels[other] ? 1 : 0;
  }
  EXPECT_NEAR(static_cast<double>(same) / static_cast<double>(graph.edges()), 0.8125, 0.01);
}

TEST(PlantedGraph, SignalShowsAfterAggregation) {
  const Graph& graph = full_size();
  const Graph aggregated = aggregated_twice(graph);
  const std::vector<int64_t> informative = planted_numbers(graph);
  const double alone = nearest_mean_accuracy(graph, informative),
               among_neighbours = nearest_mean_accuracy(aggregated, informative);
  EXPECT_LT(alone, 0.45);
  EXPECT_GT(among_neighbours, 0.85);
  EXPECT_LT(among_neighbours, 0.95);
  for (size_t left_out = 0; left_out < informative.size(); ++left_out) {
    std::vector<int64_t> others = informative;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(left_out));
    EXPECT_LT(nearest_mean_accuracy(aggregated, others), among_neighbours - 0.005) << graph.planted[left_out];
  }
}

TEST(PlantedGraph, AFilterOnNodesTakesDecoysForInformative) {
  const Graph& graph = full_size();
  const std::vector<int64_t> informative = planted_numbers(graph);
  const auto is_informative = [&](int64_t j) {
    return std::find(informative.begin(), informative.end(), j) != informative.end();
  };
  const std::vector<double> alone = attribute_information(graph),
                            among_neighbours = attribute_information(aggregated_twice(graph));
  double weakest_alone = 9, strongest_other_alone = 0, weakest_aggregated = 9, strongest_other_aggregated = 0;
  for (int64_t j = 0; j < 32; ++j) {
    const auto i = static_cast<size_t>(j);
    (is_informative(j) ? weakest_alone : strongest_other_alone) =
        is_informative(j) ? std::min(weakest_alone, alone[i]) : std::max(strongest_other_alone, alone[i]);
    (is_informative(j) ? weakest_aggregated : strongest_other_aggregated) =
        is_informative(j) ? std::min(weakest_aggregated, among_neighbours[i])
                          : std::max(strongest_other_aggregated, among_neighbours[i]);
  }
  EXPECT_GT(strongest_other_alone, 1.2 * weakest_alone);
  EXPECT_GT(weakest_aggregated, 1.5 * strongest_other_aggregated);
}

TEST(PlantedGraph, FourDecoysAreCorrelatedHalf) {
  const Graph& graph = full_size();
  const std::vector<int64_t> informative = planted_numbers(graph);
  int decoys = 0;
  for (int64_t j = 0; j < 32; ++j) {
    if (std::find(informative.begin(), informative.end(), j) != informative.end()) continue;
    double largest = 0;
    for (const int64_t i : informative) largest = std::max(largest, std::abs(correlation(column(graph, i), column(graph, j))));
    if (largest > 0.45 && largest < 0.55) {
      ++decoys;
    } else {
      EXPECT_LT(largest, 0.05) << j;
    }
  }
  EXPECT_EQ(decoys, 4);
}

TEST(PlantedGraph, TheSeedDecidesAll) {
  const Graph one = make_planted_graph(500, 1), again = make_planted_graph(500, 1), two = make_planted_graph(500, 2);
  EXPECT_TRUE(std::ranges::equal(one.neighbours, again.neighbours));
  EXPECT_TRUE(std::ranges::equal(one.dense, again.dense));
  EXPECT_EQ(one.train, again.train);
  EXPECT_EQ(one.planted, again.planted);
  EXPECT_FALSE(std::ranges::equal(one.neighbours, two.neighbours));
  EXPECT_NE(one.planted, two.planted);
  EXPECT_THROW(make_planted_graph(10, 1), UserError);
}

}  // namespace
}  // namespace l0gm
