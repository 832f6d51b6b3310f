#include "data/graph/perturb.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "base/files.h"
#include "base/random.h"
#include "data/graph/attribute_tools.h"
#include "data/graph/cache.h"
#include "support/temporary_folder.h"

namespace l0gm {
namespace {

constexpr int64_t node_count = 2000, attribute_count = 20;

// Every third node trains; half of the values are 0, none is below, so that a sparse graph can stay one.
Graph some_graph(bool sparse, float shift = 0) {
  std::vector<std::vector<float>> rows;
  std::vector<int64_t> train;
  RandomStream random(5);
  for (int64_t i = 0; i < node_count; ++i) {
    std::vector<float> row;
    for (int64_t j = 0; j < attribute_count; ++j) {
      row.push_back(random.uniform() < 0.5 ? 0.0F : static_cast<float>(j + 1) * static_cast<float>(random.uniform()) + shift);
    }
    rows.push_back(std::move(row));
    if (i % 3 == 0) train.push_back(i);
  }
  return graph_of(rows, train, sparse);
}

Perturbation condition(const std::string& name) {
  for (const Perturbation& perturbation : perturbations()) {
    if (perturbation.name == name) return perturbation;
  }
  ADD_FAILURE() << "no condition " << name;
  return {};
}

std::vector<std::vector<float>> all_rows(const Graph& graph) {
  std::vector<std::vector<float>> rows;
  for (int64_t i = 0; i < graph.nodes; ++i) rows.push_back(row_of(graph, i));
  return rows;
}

TEST(GraphPerturb, TrainingNodesStayAndTheStorageDoesNotMatter) {
  const Graph dense = some_graph(false), sparse = some_graph(true);
  const auto before = all_rows(dense);
  std::set<std::vector<std::vector<float>>> different;
  for (const Perturbation& perturbation : perturbations()) {
    const Graph damaged = perturb_attributes(dense, perturbation, 3),
                damaged_sparse = perturb_attributes(sparse, perturbation, 3);
    const auto after = all_rows(damaged);
    EXPECT_EQ(after, all_rows(damaged_sparse)) << perturbation.name;
    EXPECT_EQ(damaged_sparse.is_sparse(), perturbation.damage != Damage::noise) << perturbation.name;
    int64_t changed = 0;
    for (size_t i = 0; i < after.size(); ++i) {
      ASSERT_TRUE(i % 3 != 0 || after[i] == before[i]) << perturbation.name << " " << i;
      changed += after[i] != before[i] ? 1 : 0;
    }
    EXPECT_GT(changed, node_count / 3) << perturbation.name;
    EXPECT_EQ(damaged.labels.data(), dense.labels.data());
    EXPECT_EQ(damaged.offsets.data(), dense.offsets.data());
    different.insert(after);
  }
  EXPECT_EQ(different.size(), perturbations().size());
}

// What peers read is what our own runs are judged on, and the hashes say so.
TEST(GraphPerturb, IsExportedAsItIs) {
  const TemporaryFolder folder;
  for (const bool sparse : {false, true}) {
    const Graph graph = some_graph(sparse);
    const nlohmann::json record = export_perturbed_graphs(graph, 3, folder.path());
    EXPECT_EQ(nlohmann::json::parse(read_file(folder.path() / "perturbed.json")), record);
    std::set<std::string> hashes;
    for (const Perturbation& perturbation : perturbations()) {
      const nlohmann::json& condition = record["conditions"][perturbation.name];
      const Graph copy = perturb_attributes(graph, perturbation, 3), read = read_graph(folder.path() / condition["file"]);
      EXPECT_EQ(all_rows(read), all_rows(copy)) << perturbation.name;
      EXPECT_EQ(hash_of_attributes(read), condition["sha256"].get<std::string>()) << perturbation.name;
      EXPECT_EQ(hash_of_attributes(copy), condition["sha256"].get<std::string>()) << perturbation.name;
      hashes.insert(condition["sha256"]);
    }
    EXPECT_EQ(hashes.size(), perturbations().size());
  }
}

TEST(GraphPerturb, TheSeedDecides) {
  const Graph graph = some_graph(false);
  for (const Perturbation& perturbation : perturbations()) {
    const auto first = all_rows(perturb_attributes(graph, perturbation, 3));
    EXPECT_EQ(all_rows(perturb_attributes(graph, perturbation, 3)), first) << perturbation.name;
    EXPECT_EQ(all_rows(perturb_attributes(graph, perturbation, 4)) != first, perturbation.damage != Damage::quantise)
        << perturbation.name;
  }
}

// What is drawn for a node depends neither on other nodes nor on the training nodes.
TEST(GraphPerturb, DrawsBelongToNodes) {
  Graph graph = some_graph(false), other = some_graph(false);
  other.train = {0};
  for (const char* name : {"missing-0.3", "occlude-0.2"}) {
    const Graph one = perturb_attributes(graph, condition(name), 3), two = perturb_attributes(other, condition(name), 3);
    EXPECT_EQ(row_of(one, 1), row_of(two, 1));
    EXPECT_EQ(row_of(one, 1999), row_of(two, 1999));
    EXPECT_NE(row_of(two, 1998), row_of(graph, 1998));
  }
}

TEST(GraphPerturb, MissingIsZeroInTheShareAskedFor) {
  const Graph graph = some_graph(false, 1);
  for (const double share : {0.1, 0.3, 0.5}) {
    const Graph damaged = perturb_attributes(graph,
                                             condition(share == 0.1   ? "missing-0.1"
                                                       : share == 0.3 ? "missing-0.3"
                                                                      : "missing-0.5"),
                                             3);
    double there = 0, emptied = 0;
    for (int64_t i = 0; i < node_count; ++i) {
      if (i % 3 == 0) continue;
      const auto before = row_of(graph, i), after = row_of(damaged, i);
      for (size_t j = 0; j < before.size(); ++j) {
        there += before[j] != 0 ? 1 : 0;
        emptied += before[j] != 0 && after[j] == 0 ? 1 : 0;
        ASSERT_TRUE(after[j] == before[j] || after[j] == 0);
      }
    }
    EXPECT_NEAR(emptied / there, share, 4.5 * std::sqrt(share * (1 - share) / there));
  }
}

TEST(GraphPerturb, NoiseIsInUnitsOfTheTrainingDeviation) {
  const Graph graph = some_graph(false), damaged = perturb_attributes(graph, condition("noise-0.2"), 3);
  const AttributeStatistics statistics = attribute_statistics(graph);
  for (size_t j = 0; j < attribute_count; ++j) {
    double sum = 0, squares = 0, fourth = 0, count = 0;
    for (int64_t i = 0; i < node_count; ++i) {
      if (i % 3 == 0) continue;
      const double z = (row_of(damaged, i)[j] - row_of(graph, i)[j]) / (0.2 * statistics.deviation[j]);
      sum += z, squares += z * z, fourth += z * z * z * z, count += 1;
    }
    EXPECT_NEAR(sum / count, 0, 4.5 / std::sqrt(count)) << j;
    EXPECT_NEAR(squares / count, 1, 4.5 * std::sqrt(2 / count)) << j;
    EXPECT_NEAR(fourth / count, 3, 4.5 * std::sqrt(96 / count)) << j;
  }
}

TEST(GraphPerturb, QuantisedValuesLieOnTheGrid) {
  const Graph graph = some_graph(false);
  const AttributeStatistics statistics = attribute_statistics(graph);
  const Graph damaged = perturb_attributes(graph, condition("quantise-4"), 3);
  std::set<float> levels;
  for (int64_t i = 0; i < node_count; ++i) {
    if (i % 3 == 0) continue;
    const auto before = row_of(graph, i), after = row_of(damaged, i);
    levels.insert(after[7]);
    for (size_t j = 0; j < before.size(); ++j) {
      const double step = (statistics.high[j] - statistics.low[j]) / 15.0, place = (after[j] - statistics.low[j]) / step;
      EXPECT_NEAR(place, std::round(place), 1e-4);
      const float inside = std::clamp(before[j], statistics.low[j], statistics.high[j]);
      EXPECT_LE(std::abs(after[j] - inside), 0.5001 * step);
    }
  }
  EXPECT_EQ(levels.size(), 16u);
}

// A range that has no level at 0 turns zeros into numbers; a constant becomes that constant everywhere.
TEST(GraphPerturb, QuantisationBecomesDenseWhereZeroIsNoLevel) {
  Graph graph = graph_of({{-1, 2}, {1.5F, 2}, {0, 0}, {9, 5}}, {0, 1}, true);
  const Graph damaged = perturb_attributes(graph, condition("quantise-4"), 3);
  ASSERT_FALSE(damaged.is_sparse());
  EXPECT_EQ(row_of(damaged, 0), (std::vector<float>{-1, 2}));
  EXPECT_NEAR(row_of(damaged, 2)[0], 0, 0.5 * 2.5 / 15 + 1e-6);
  EXPECT_EQ(row_of(damaged, 2)[1], 2);
  EXPECT_EQ(row_of(damaged, 3), (std::vector<float>{1.5F, 2}));
}

TEST(GraphPerturb, OcclusionTakesABlockOfNeighbours) {
  const Graph graph = graph_of(std::vector<std::vector<float>>(3000, std::vector<float>(attribute_count, 1)), {0}, false);
  const Graph damaged = perturb_attributes(graph, condition("occlude-0.3"), 3);
  std::set<size_t> begins;
  for (int64_t i = 1; i < 3000; ++i) {
    const auto row = row_of(damaged, i);
    const auto first = std::find(row.begin(), row.end(), 0.0F), last = std::find(first, row.end(), 1.0F);
    ASSERT_EQ(last - first, 6);
    ASSERT_EQ(std::count(row.begin(), row.end(), 0.0F), 6);
    begins.insert(static_cast<size_t>(first - row.begin()));
  }
  EXPECT_EQ(begins.size(), 15u);  // all there are
}

}  // namespace
}  // namespace l0gm
