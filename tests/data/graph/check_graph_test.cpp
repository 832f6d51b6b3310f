#include "data/graph/check_graph.h"

#include <gtest/gtest.h>

#include <limits>

#include "data/graph/small_graph.h"
#include "l0gm/error.h"
#include "support/temporary_folder.h"

namespace l0gm {
namespace {

template <class Change>
void expect_refused(bool sparse, const Change& change, const std::string& part) {
  Graph graph = small_graph(sparse);
  change(graph);
  const std::string message = message_of<UserError>([&] { check_graph(graph, "here.npz"); });
  EXPECT_TRUE(message.starts_with("here.npz: ")) << message;
  EXPECT_NE(message.find(part), std::string::npos) << message;
}

TEST(CheckGraph, GoodGraphsPass) {
  EXPECT_NO_THROW(check_graph(small_graph(false), "dense"));
  EXPECT_NO_THROW(check_graph(small_graph(true), "sparse"));
}

TEST(CheckGraph, Structure) {
  const auto neighbours = [](std::vector<int32_t> values) { return [values](Graph& graph) { graph.neighbours = values; }; };
  expect_refused(false, [](Graph& graph) { graph.nodes = 0; }, "0 nodes");
  expect_refused(false, [](Graph& graph) { graph.offsets = std::vector<int64_t>{0, 1, 3, 5}; }, "rows of its adjacency");
  expect_refused(
      false, [](Graph& graph) { graph.offsets = std::vector<int64_t>{0, 3, 1, 5, 6}; }, "row 1 of its adjacency ends before");
  expect_refused(false, [](Graph& graph) { graph.offsets = std::vector<int64_t>{0, 1, 9, 5, 6}; }, "ends before");
  expect_refused(false, neighbours({1, 0, 2, 1, 4, 2}), "node 2");  // no such node
  expect_refused(false, neighbours({1, 2, 0, 1, 3, 2}), "node 1");  // not ascending
  expect_refused(false, neighbours({1, 0, 0, 1, 3, 2}), "node 1");  // twice
  expect_refused(false, neighbours({0, 0, 2, 1, 3, 2}), "node 0");  // itself
  expect_refused(false, neighbours({-1, 0, 2, 1, 3, 2}), "node 0");
  expect_refused(false, neighbours({2, 0, 2, 1, 3, 2}), "both directions");
  expect_refused(false, [](Graph& graph) { graph.node_names = {"a"}; }, "1 names for 4 nodes");
  expect_refused(false, [](Graph& graph) { graph.node_names = {"a", "b", "a", "d"}; }, "two nodes are called 'a'");
}

TEST(CheckGraph, Attributes) {
  const float nan = std::numeric_limits<float>::quiet_NaN(), infinite = std::numeric_limits<float>::infinity();
  expect_refused(
      false, [&](Graph& graph) { graph.dense = std::vector<float>{0, 1, 0, nan, 2, 3, 0, 0}; }, "attribute y of node 1 is nan");
  expect_refused(false, [](Graph& graph) { graph.dense = std::vector<float>{0, 1, 0, 0, 2, 3}; }, "need 8");
  expect_refused(false, [](Graph& graph) { graph.attributes = 0; }, "no attributes");
  expect_refused(false, [](Graph& graph) { graph.attribute_names = {"x"}; }, "1 names for 2 attributes");
  expect_refused(
      true, [&](Graph& graph) { graph.sparse.values = std::vector<float>{1, infinite, 3}; }, "attribute x of node 2 is inf");
  expect_refused(true, [](Graph& graph) { graph.sparse.columns = std::vector<int32_t>{2, 0, 1}; }, "attributes of node 0");
  expect_refused(true, [](Graph& graph) { graph.sparse.columns = std::vector<int32_t>{1, 1, 0}; }, "attributes of node 2");
  expect_refused(true, [](Graph& graph) { graph.sparse.values = std::vector<float>{1, 2}; }, "2 values in 3 places");
  expect_refused(true, [](Graph& graph) { graph.sparse.offsets = std::vector<int64_t>{0, 1, 1, 3}; }, "rows of its attributes");
}

TEST(CheckGraph, LabelsAndSplit) {
  expect_refused(
      false, [](Graph& graph) { graph.labels = std::vector<int32_t>{0, 1, 2, -1}; },
      "label of node 2 is 2, wanted a class from 0 to 1");
  expect_refused(false, [](Graph& graph) { graph.labels = std::vector<int32_t>{-2, 1, 1, -1}; }, "label of node 0 is -2");
  expect_refused(false, [](Graph& graph) { graph.labels = std::vector<int32_t>{0, 1}; }, "2 labels for 4 nodes");
  expect_refused(
      false, [](Graph& graph) { graph.test = {2, 3}; }, "node 3 is in the test part of the split, but its label is missing");
  expect_refused(false, [](Graph& graph) { graph.train = {}; }, "no node is in the training part");
  expect_refused(false, [](Graph& graph) { graph.valid = {0}; }, "node 0 is in the split twice");
  expect_refused(false, [](Graph& graph) { graph.test = {4}; }, "include 4");
  expect_refused(false, [](Graph& graph) { graph.train = {2, 0}, graph.test = {}; }, "ascending order");
}

}  // namespace
}  // namespace l0gm
