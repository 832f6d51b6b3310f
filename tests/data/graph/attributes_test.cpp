#include "data/graph/attributes.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/random.h"
#include "data/graph/attribute_information.h"
#include "data/graph/attribute_tools.h"
#include "l0gm/error.h"
#include "support/temporary_folder.h"

namespace l0gm {
namespace {

// 60 nodes, of which the first 40 are for training; attribute 4 is constant among them, attribute 2 is the class.
Graph some_graph(bool sparse) {
  std::vector<std::vector<float>> rows;
  std::vector<int32_t> labels;
  std::vector<int64_t> train;
  RandomStream random(7);
  for (int64_t i = 0; i < 60; ++i) {
    const int32_t label = random.uniform() < 0.5 ? 0 : 1;
    const auto value = [&] { return random.uniform() < 0.5 ? 0.0F : static_cast<float>(3 * random.normal() - 1); };
    rows.push_back({value(), value(), static_cast<float>(label), value(), i < 40 ? 2.5F : 7.0F, value()});
    labels.push_back(label);
    if (i < 40) train.push_back(i);
  }
  rows[50] = {0, 0, 0, 0, 0, 0};
  Graph graph = graph_of(rows, train, sparse);
  graph.labels = labels;
  graph.classes = {"a", "b"};
  return graph;
}

GraphOptions scale_as(FeatureScale scale, double keep = 1, KeepBy by = KeepBy::information) {
  GraphOptions options;
  options.features = scale;
  options.keep_attributes = keep;
  options.keep_by = by;
  return options;
}

TEST(GraphAttributes, AutomaticFollowsTheStorage) {
  EXPECT_EQ(fit_attributes(some_graph(true), {}, 0).scale, FeatureScale::rows);
  EXPECT_EQ(fit_attributes(some_graph(false), {}, 0).scale, FeatureScale::standard);
  EXPECT_EQ(fit_attributes(some_graph(false), scale_as(FeatureScale::rows), 0).scale, FeatureScale::rows);
}

TEST(GraphAttributes, StandardHasMean0AndDeviation1OnTrainingNodes) {
  for (const bool sparse : {false, true}) {
    const Graph graph = some_graph(sparse);
    const Graph scaled = scale_attributes(graph, fit_attributes(graph, scale_as(FeatureScale::standard), 0));
    EXPECT_FALSE(scaled.is_sparse());
    for (size_t j = 0; j < 6; ++j) {
      double sum = 0, squares = 0;
      for (const int64_t node : graph.train) {
        const double value = row_of(scaled, node)[j];
        sum += value / 40;
        squares += value * value / 40;
      }
      EXPECT_NEAR(sum, 0, 1e-6) << j;
      EXPECT_NEAR(squares, j == 4 ? 0 : 1, 1e-5) << j;
    }
    EXPECT_EQ(row_of(scaled, 55)[4], 4.5F);  // a constant is only shifted, also where it is constant no longer
  }
}

TEST(GraphAttributes, RowsHaveMagnitude1AndStaySparse) {
  for (const bool sparse : {false, true}) {
    const Graph graph = some_graph(sparse);
    const Graph scaled = scale_attributes(graph, fit_attributes(graph, scale_as(FeatureScale::rows), 0));
    EXPECT_EQ(scaled.is_sparse(), sparse);
    for (const int64_t node : {0, 1, 45, 50, 59}) {
      const auto before = row_of(graph, node), after = row_of(scaled, node);
      double magnitude = 0, sum = 0;
      for (const float value : before) magnitude += std::abs(value);
      for (size_t j = 0; j < 6; ++j) {
        sum += std::abs(after[j]);
        EXPECT_NEAR(after[j], magnitude > 0 ? before[j] / magnitude : 0, 1e-6);
      }
      EXPECT_NEAR(sum, node == 50 ? 0 : 1, 1e-6) << node;
    }
  }
}

TEST(GraphAttributes, RawSharesTheMemory) {
  for (const bool sparse : {false, true}) {
    const Graph graph = some_graph(sparse),
                scaled = scale_attributes(graph, fit_attributes(graph, scale_as(FeatureScale::raw), 0));
    EXPECT_EQ(scaled.dense.data(), graph.dense.data());
    EXPECT_EQ(scaled.sparse.values.data(), graph.sparse.values.data());
    EXPECT_EQ(scaled.labels.data(), graph.labels.data());
  }
}

TEST(GraphAttributes, TheMostInformativeAreKept) {
  for (const bool sparse : {false, true}) {
    const Graph graph = some_graph(sparse);
    const AttributeScaling one = fit_attributes(graph, scale_as(FeatureScale::raw, 0.01), 0);
    EXPECT_EQ(one.kept, (std::vector<int64_t>{2}));  // never none at all
    const AttributeScaling half = fit_attributes(graph, scale_as(FeatureScale::standard, 0.5), 0);
    ASSERT_EQ(half.kept.size(), 3u);
    const std::vector<double> information = attribute_information(graph);
    double least_kept = 9, most_left = 0;
    for (int64_t j = 0; j < 6; ++j) {
      const bool kept = std::find(half.kept.begin(), half.kept.end(), j) != half.kept.end();
      if (kept) least_kept = std::min(least_kept, information[static_cast<size_t>(j)]);
      if (!kept) most_left = std::max(most_left, information[static_cast<size_t>(j)]);
    }
    EXPECT_GE(least_kept, most_left);

    const Graph all = scale_attributes(graph, fit_attributes(graph, scale_as(FeatureScale::standard), 0)),
                some = scale_attributes(graph, half);
    ASSERT_EQ(some.attributes, 3);
    for (size_t j = 0; j < 3; ++j) {
      EXPECT_EQ(some.attribute_names[j], std::to_string(half.kept[j]));
      for (const int64_t node : {0, 41, 50})
        EXPECT_EQ(row_of(some, node)[j], row_of(all, node)[static_cast<size_t>(half.kept[j])]);
    }
  }
}

TEST(GraphAttributes, KeptSparseRowsSumTo1Alone) {
  const Graph graph = some_graph(true);
  const Graph scaled = scale_attributes(graph, {FeatureScale::rows, 6, {1, 3, 4}, {}, {}});
  ASSERT_TRUE(scaled.is_sparse());
  for (int64_t node = 0; node < 60; ++node) {
    const auto before = row_of(graph, node), after = row_of(scaled, node);
    const double magnitude = std::abs(before[1]) + std::abs(before[3]) + std::abs(before[4]);
    EXPECT_NEAR(after[1], magnitude > 0 ? before[3] / magnitude : 0, 1e-6);
    EXPECT_EQ(after == std::vector<float>(3, 0), node == 50);
  }
}

TEST(GraphAttributes, ChanceFollowsTheSeed) {
  const Graph graph = some_graph(false);
  const GraphOptions options = scale_as(FeatureScale::raw, 0.5, KeepBy::random);
  const std::vector<int64_t> first = fit_attributes(graph, options, 1).kept;
  EXPECT_EQ(fit_attributes(graph, options, 1).kept, first);
  EXPECT_TRUE(std::is_sorted(first.begin(), first.end()));
  bool other = false;
  for (uint64_t seed = 2; seed < 10; ++seed) other = other || fit_attributes(graph, options, seed).kept != first;
  EXPECT_TRUE(other);
}

TEST(GraphAttributes, JsonRoundTrip) {
  for (const auto scale : {FeatureScale::raw, FeatureScale::rows, FeatureScale::standard}) {
    const AttributeScaling made = fit_attributes(some_graph(false), scale_as(scale, 0.5), 0);
    const AttributeScaling read = AttributeScaling::from_json(nlohmann::json::parse(made.to_json().dump()));
    EXPECT_EQ(read.scale, scale);
    EXPECT_EQ(read.attributes, 6);
    EXPECT_EQ(read.kept, made.kept);
    EXPECT_EQ(read.mean, made.mean);
    EXPECT_EQ(read.deviation, made.deviation);
    EXPECT_EQ(read.mean.size(), scale == FeatureScale::standard ? 3u : 0u);
  }
}

TEST(GraphAttributes, NonsenseIsRefused) {
  const nlohmann::json good = fit_attributes(some_graph(false), scale_as(FeatureScale::standard, 0.5), 0).to_json();
  const auto refused = [&](const char* key, const nlohmann::json& value) {
    nlohmann::json bad = good;
    bad[key] = value;
    return !message_of<UserError>([&] { AttributeScaling::from_json(bad); }).empty();
  };
  EXPECT_NO_THROW(AttributeScaling::from_json(good));
  EXPECT_TRUE(refused("scale", "auto"));
  EXPECT_TRUE(refused("scale", "wide"));
  EXPECT_TRUE(refused("scale", "rows"));  // which has no means
  EXPECT_TRUE(refused("attributes", "six"));
  EXPECT_TRUE(refused("attributes", 2));
  EXPECT_TRUE(refused("kept", {0, 2, 6}));
  EXPECT_TRUE(refused("kept", {0, 2, 2}));
  EXPECT_TRUE(refused("kept", {-1, 2, 3}));
  EXPECT_TRUE(refused("mean", {1, 2}));
  EXPECT_TRUE(refused("deviation", {1, 0, 2}));
  EXPECT_TRUE(refused("deviation", {1, nullptr, 2}));
  nlohmann::json lacking = good;
  lacking.erase("kept");
  EXPECT_THROW(AttributeScaling::from_json(lacking), UserError);
}

TEST(GraphAttributes, AnotherNumberOfAttributesIsRefused) {
  const std::string message =
      message_of<UserError>([] { scale_attributes(some_graph(false), {FeatureScale::raw, 7, {}, {}, {}}); });
  EXPECT_NE(message.find("6 attributes"), std::string::npos) << message;
  EXPECT_NE(message.find("7"), std::string::npos) << message;
}

}  // namespace
}  // namespace l0gm
