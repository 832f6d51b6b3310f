#include "data/graph/node_split.h"

#include <gtest/gtest.h>

#include "data/graph/small_graph.h"
#include "l0gm/error.h"
#include "support/temporary_folder.h"

namespace l0gm {
namespace {

void write_split(const TemporaryFolder& folder, const std::string& name, const std::string& train, const std::string& valid,
                 const std::string& test) {
  folder.write("split/" + name + "/train.csv", train);
  folder.write("split/" + name + "/valid.csv", valid);
  folder.write("split/" + name + "/test.csv", test);
}

TEST(SplitFiles, TheOnlyOneOrTheNamedOne) {
  const TemporaryFolder folder;
  EXPECT_FALSE(find_split_files(folder.path(), "").has_value());
  EXPECT_THROW(find_split_files(folder.path(), "time"), UserError);
  write_split(folder, "time", "0\n", "1\n", "2\n");
  EXPECT_EQ(find_split_files(folder.path(), "").value()[1], folder.path() / "split/time/valid.csv");
  write_split(folder, "chance", "2\n", "1\n", "0\n");
  const std::string several = message_of<UserError>([&] { find_split_files(folder.path(), ""); });
  EXPECT_NE(several.find("several splits: chance, time. Set data.protocol"), std::string::npos) << several;
  EXPECT_EQ(find_split_files(folder.path(), "chance").value()[0], folder.path() / "split/chance/train.csv");
  const std::string typo = message_of<UserError>([&] { find_split_files(folder.path(), "tmie"); });
  EXPECT_NE(typo.find("Did you mean 'time'?"), std::string::npos) << typo;
}

TEST(SplitFiles, MissingPartsAreNamed) {
  const TemporaryFolder folder;
  folder.write("split/time/train.csv.gz", "");
  const std::string message = message_of<UserError>([&] { find_split_files(folder.path(), ""); });
  EXPECT_NE(message.find("lacks valid.csv.gz, test.csv.gz"), std::string::npos) << message;
}

TEST(ReadSplit, NumbersInAscendingOrder) {
  const TemporaryFolder folder;
  write_split(folder, "a", "2\r\n0\n\n", "1\n", "");
  Graph graph = small_graph(false);
  graph.train = graph.valid = graph.test = {};
  read_split(graph, find_split_files(folder.path(), "").value());
  EXPECT_EQ(graph.train, (std::vector<int64_t>{0, 2}));
  EXPECT_EQ(graph.valid, (std::vector<int64_t>{1}));
  EXPECT_TRUE(graph.test.empty());
}

TEST(ReadSplit, WhatDoesNotFitIsRefused) {
  const TemporaryFolder folder;
  const auto refusal = [&](const std::string& train, const std::string& valid) {
    write_split(folder, "a", train, valid, "");
    Graph graph = small_graph(false);
    graph.train = graph.valid = graph.test = {};
    return message_of<UserError>([&] { read_split(graph, find_split_files(folder.path(), "").value()); });
  };
  EXPECT_NE(refusal("0\n4\n", "").find("train.csv line 2: found '4', wanted the number of a node, 0 to 3"), std::string::npos);
  EXPECT_NE(refusal("node\n", "").find("line 1: found 'node'"), std::string::npos);
  EXPECT_NE(refusal("0\n1\n0\n", "").find("train.csv line 3: node 0 is in the split twice: twice in train"), std::string::npos);
  EXPECT_NE(refusal("0\n1\n", "1\n").find("valid.csv line 1: node 1 is in the split twice: in train and in valid"),
            std::string::npos);
  EXPECT_NE(refusal("", "1\n").find("train.csv lists no node"), std::string::npos);
}

Graph labelled(int64_t nodes) {
  Graph graph;
  graph.name = "many";
  graph.nodes = nodes;
  std::vector<int32_t> labels;
  for (int64_t node = 0; node < nodes; ++node) labels.push_back(node % 10 == 9 ? -1 : static_cast<int32_t>(node % 3));
  graph.labels = std::move(labels);
  graph.classes = {"a", "b", "c"};
  return graph;
}

TEST(DrawSplit, SharesOfTheLabelledNodes) {
  Graph graph = labelled(1000), again = labelled(1000), other = labelled(1000);
  draw_split(graph, 0.1, 0.2, 5);
  EXPECT_EQ(graph.train.size(), 630u);
  EXPECT_EQ(graph.valid.size(), 90u);
  EXPECT_EQ(graph.test.size(), 180u);
  for (const auto* part : {&graph.train, &graph.valid, &graph.test}) {
    for (const int64_t node : *part) EXPECT_GE(graph.labels[node], 0);
  }
  draw_split(again, 0.1, 0.2, 5);
  EXPECT_EQ(graph.test, again.test);
  draw_split(other, 0.1, 0.2, 6);
  EXPECT_NE(graph.test, other.test);
}

TEST(DrawSplit, OutOfAPoolAndOnlyWhatIsAskedFor) {
  Graph graph = labelled(100);
  graph.valid = {0, 1};
  std::vector<int64_t> pool;
  for (int64_t node = 50; node < 100; ++node) pool.push_back(node);
  draw_split(graph, -1, 0.2, 1, &pool);
  EXPECT_EQ(graph.valid, (std::vector<int64_t>{0, 1}));
  EXPECT_EQ(graph.test.size(), 9u);
  EXPECT_EQ(graph.train.size(), 36u);
  EXPECT_GE(graph.train.front(), 50);
}

TEST(DrawSplit, WithoutLabelsThereIsNothingToDraw) {
  Graph graph = small_graph(false);
  graph.labels = std::vector<int32_t>(4, -1);
  EXPECT_NE(message_of<UserError>([&] { draw_split(graph, 0.1, 0.2, 0); }).find("no node has a label"), std::string::npos);
}

}  // namespace
}  // namespace l0gm
