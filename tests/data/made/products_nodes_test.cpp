#include "data/made/products_nodes.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/files.h"
#include "l0gm/error.h"
#include "support/real_data.h"
#include "support/temporary_folder.h"

namespace l0gm {
namespace {

namespace fs = std::filesystem;

std::vector<double> class_shares(const Graph& graph, const std::vector<int64_t>& nodes) {
  std::vector<double> shares(products_classes, 0);
  for (const int64_t node : nodes) shares[static_cast<size_t>(graph.labels[node])] += 1.0 / static_cast<double>(nodes.size());
  return shares;
}

void expect_parts_and_classes(const Graph& graph, double tolerance) {
  const auto count = static_cast<double>(graph.nodes);
  EXPECT_NEAR(static_cast<double>(graph.train.size()) / count, 0.08028, 1e-4);
  EXPECT_NEAR(static_cast<double>(graph.valid.size()) / count, 0.01606, 1e-4);
  EXPECT_EQ(graph.train.size() + graph.valid.size() + graph.test.size(), static_cast<size_t>(graph.nodes));
  EXPECT_LT(graph.train.back(), graph.valid.front());
  EXPECT_LT(graph.valid.back(), graph.test.front());
  const std::vector<double> train = class_shares(graph, graph.train), test = class_shares(graph, graph.test);
  EXPECT_NEAR(train[4], 60630.0 / 196615, tolerance);
  EXPECT_NEAR(test[4], 596195.0 / 2213091, tolerance);
  EXPECT_NEAR(train[12], 2755.0 / 196615, tolerance);
  EXPECT_NEAR(test[12], 128632.0 / 2213091, tolerance);
  for (size_t label = 42; label < 47; ++label) EXPECT_EQ(train[label], 0) << label;
  EXPECT_NEAR(test[42], 32500.0 / 2213091, tolerance);
}

TEST(ProductsNodes, LabelsAreDrawnFromTheClassCounts) {
  Graph graph;
  const ProductsNodes nodes = make_products_nodes(0.05, 0, "", graph);
  EXPECT_EQ(graph.nodes, 122'451);
  EXPECT_EQ(nodes.size(), graph.nodes);
  EXPECT_EQ(graph.classes.size(), 47u);
  expect_parts_and_classes(graph, 0.02);
  EXPECT_TRUE(graph.files.empty());
}

TEST(ProductsNodes, LateNodesAreLessOftenWhatTheyLookLike) {
  Graph graph;
  const ProductsNodes nodes = make_products_nodes(0.05, 0, "", graph);
  const auto mismatches = [&](const std::vector<int64_t>& of) {
    double count = 0;
    for (const int64_t node : of)
      count += nodes.apparent[static_cast<size_t>(node)] != nodes.labels[static_cast<size_t>(node)] ? 1 : 0;
    return count / static_cast<double>(of.size());
  };
  EXPECT_GT(mismatches(graph.train), 0.05);
  EXPECT_LT(mismatches(graph.train), 0.15);
  EXPECT_GT(mismatches(graph.test), mismatches(graph.train) + 0.05);
}

TEST(ProductsNodes, RealLabelsAndSplit) {
  const fs::path folder = real_data_folder() / "graph/ogbn_products";
  if (!fs::exists(folder / "raw/node-label.csv.gz")) GTEST_SKIP() << "needs graph/ogbn_products below $L0GM_DATA";
  Graph graph, whole;
  make_products_nodes(0.02, 0, folder.string(), graph);
  expect_parts_and_classes(graph, 0.02);
  EXPECT_EQ(graph.files.size(), 3u);
  make_products_nodes(1, 0, folder.string(), whole);
  expect_parts_and_classes(whole, 1e-6);
  EXPECT_EQ(whole.train.size(), 196'615u);
  EXPECT_EQ(whole.valid.size(), 39'323u);
  EXPECT_EQ(graph.labels[1000], whole.labels[50'025]);  // node i has the label of node (i + 1/2) / scale
}

TEST(ProductsNodes, BadFoldersAndScalesAreRefused) {
  const TemporaryFolder folder;
  Graph graph;
  const auto message = [&](double scale) {
    return message_of<UserError>([&] { make_products_nodes(scale, 0, folder.path().string(), graph); });
  };
  EXPECT_NE(message(0.01).find("node-label.csv"), std::string::npos);
  fs::create_directories(folder.path() / "raw");
  write_file_atomically(folder.path() / "raw/node-label.csv", "0\n46\n47\n");
  EXPECT_NE(message(0.01).find("line 3: found '47'"), std::string::npos) << message(0.01);
  write_file_atomically(folder.path() / "raw/node-label.csv", "0\n46\n");
  EXPECT_NE(message(0.01).find("has 2 labels"), std::string::npos) << message(0.01);
  EXPECT_NE(message(1e-6).find("scale"), std::string::npos);
}

}  // namespace
}  // namespace l0gm
