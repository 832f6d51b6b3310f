#include "data/graph/own_graph.h"

#include <gtest/gtest.h>

#include "data/graph/archive_tools.h"
#include "data/graph/check_graph.h"
#include "l0gm/error.h"
#include "support/temporary_folder.h"

namespace l0gm {
namespace {

// Six people, their acquaintances as edges, two attributes, two classes.
class OwnGraph : public testing::Test {
 protected:
  OwnGraph() {
    options.source = "graph";
    options.edges = write("edges.csv", "from,to\nann,bob\nbob,cid\ndan,eve\ndan,dan\n");
    options.features = write("people.csv", "name,age,height\nann,1,2\nbob,3,4\ncid,5,6\ndan,7,8\neve,9,10\nfay,11,12\n");
    options.labels = write("labels.csv", "node,label\nann,yes\nbob,no\ncid,yes\ndan,no\neve,yes\n");
    options.split.valid = options.split.test = 0.2;
  }
  std::string write(const std::string& name, const std::string& text) const { return folder.write(name, text).string(); }
  Graph read() const {
    Graph graph = read_own_graph(options, true);
    check_graph(graph, "own");
    return graph;
  }
  std::string refusal() const {
    return message_of<UserError>([&] { read(); });
  }
  void expect_refused(const std::string& part) const {
    const std::string message = refusal();
    EXPECT_NE(message.find(part), std::string::npos) << message;
  }

  TemporaryFolder folder;
  DataOptions options;
};

TEST_F(OwnGraph, Read) {
  const Graph graph = read();
  EXPECT_EQ(graph.nodes, 6);
  EXPECT_EQ(graph.node_names, (std::vector<std::string>{"ann", "bob", "cid", "dan", "eve", "fay"}));
  EXPECT_EQ(graph.attribute_names, (std::vector<std::string>{"age", "height"}));
  EXPECT_EQ(graph.edges(), 6);
  EXPECT_EQ(graph.degree(5), 0);
  EXPECT_EQ(graph.classes, (std::vector<std::string>{"no", "yes"}));
  EXPECT_EQ(std::vector<int32_t>(graph.labels.begin(), graph.labels.end()), (std::vector<int32_t>{1, 0, 1, 0, 1, -1}));
  EXPECT_EQ(graph.dense[3], 4);
  EXPECT_EQ(graph.train.size() + graph.valid.size() + graph.test.size(), 5u);
  EXPECT_EQ(read_own_graph(options, false).edges(), 3);
}

TEST_F(OwnGraph, MarksForMissingAreNoClass) {
  options.labels = write("labels.csv", "node,label\nann,yes\nbob,no\ncid,yes\ndan,no\neve,NA\nfay, nan \n");
  options.train = write("train.csv", "node\nann\nbob\n");
  options.valid = write("valid.csv", "node\ncid\n");
  options.test = write("test.csv", "node\ndan\n");
  const Graph graph = read();
  EXPECT_EQ(graph.classes, (std::vector<std::string>{"no", "yes"}));
  EXPECT_EQ(std::vector<int32_t>(graph.labels.begin(), graph.labels.end()), (std::vector<int32_t>{1, 0, 1, 0, -1, -1}));
}

TEST_F(OwnGraph, BlankLinesOfNodeFilesAreSkipped) {
  options.train = write("train.csv", "node\nann\n\nbob\n\n");
  options.valid = write("valid.csv", "node\ncid\n");
  options.test = write("test.csv", "node\ndan\n");
  EXPECT_EQ(read().train, (std::vector<int64_t>{0, 1}));
}

TEST_F(OwnGraph, ArrayAndNumbers) {
  options.features = write("x.npy", npy_of("<f4", "(3, 2)", bytes_of<float>({1, 2, 3, 4, 5, 6})));
  options.edges = write("edges.tsv", "from\tto\n0\t1\n1\t2\n");
  options.labels = write("labels.csv", "node,label\n2,10\n0,9\n1,9\n");
  options.train = write("train.csv", "node\n1\n");
  options.valid = write("valid.csv", "node\n0\n");
  options.test = write("test.csv", "node\n2\n");
  const Graph graph = read();
  EXPECT_EQ(graph.edges(), 4);
  EXPECT_TRUE(graph.node_names.empty());
  EXPECT_EQ(graph.classes, (std::vector<std::string>{"9", "10"}));  // as numbers, not as text
  EXPECT_EQ(graph.train, (std::vector<int64_t>{1}));
  EXPECT_EQ(graph.test, (std::vector<int64_t>{2}));
  options.edges = write("edges.tsv", "from\tto\n0\t1\n1\t3\n");
  expect_refused("edges.tsv line 3: there is no node '3': ");
  expect_refused("x.npy has 3 rows, so nodes are numbered from 0 to 2");
  options.edges = write("edges.tsv", "0\t1\n1\t2\n");
  expect_refused("has no header: its first line, '0' and '1', names two nodes");
  options.features = write("x.npy", npy_of("<f4", "(3, 2)", bytes_of<float>({1, 2, 3, 4, 5})));
  expect_refused("cut off or damaged");
}

TEST_F(OwnGraph, SplitByColumn) {
  options.labels = write("labels.csv", "node,kind,part\nann,yes,train\nbob,no,train\ncid,yes,valid\ndan,no,test\n");
  options.label = "kind";
  options.split.column = "part";
  const Graph graph = read();
  EXPECT_EQ(graph.train, (std::vector<int64_t>{0, 1}));
  EXPECT_EQ(graph.valid, (std::vector<int64_t>{2}));
  EXPECT_EQ(graph.test, (std::vector<int64_t>{3}));
  options.labels = write("labels.csv", "node,kind,part\nann,,train\nbob,no,valid\n");
  expect_refused("node ann is in the training part of the split, but its label is missing");
  options.labels = write("labels.csv", "node,kind,part\nann,yes,test\nbob,no,valid\n");
  expect_refused("marks no row as train");
  options.train = options.edges;
  expect_refused("from a column or from files");
}

TEST_F(OwnGraph, SplitByFilesAndTheRestDrawn) {
  options.test = write("test.csv", "node\neve\n");
  options.split.valid = 0.25;
  const Graph graph = read();
  EXPECT_EQ(graph.test, (std::vector<int64_t>{4}));
  EXPECT_EQ(graph.valid.size(), 1u);
  EXPECT_EQ(graph.train.size(), 3u);
  options.valid = write("valid.csv", "node\nann\neve\n");
  expect_refused("test.csv line 2: node 'eve' is in the split twice: in valid and in test");
  options.valid = write("valid.csv", "node\nann\nann\n");
  expect_refused("valid.csv line 3: node 'ann' is in the split twice: twice in valid");
  options.valid = write("valid.csv", "node\nzoe\n");
  expect_refused("valid.csv line 2: there is no node 'zoe'");
  options.valid = write("valid.csv", "ann\n");
  expect_refused("wanted a single column with the header 'node'");
  options.valid = write("valid.csv", "node\n");
  expect_refused("valid.csv names no node");
  options.valid = write("valid.csv", "node\nfay\n");
  expect_refused("node fay is in the validation part of the split, but its label is missing");
  options.valid.clear();
  options.train = write("train.csv", "node\nann\nfay\n");
  expect_refused("train.csv names node 'fay', which has no label in ");
}

TEST_F(OwnGraph, EdgesThatDoNotFit) {
  write("edges.csv", "from,to\nann,bob\nann,zoe\n");
  expect_refused("edges.csv line 3: there is no node 'zoe': ");
  expect_refused("has 6 nodes, and none of that name. Add its attributes there, or remove the line.");
  write("edges.csv", "from,to,weight\nann,bob,1\n");
  expect_refused("wanted two, from and to. Weights or kinds of edges cannot be read");
  write("edges.csv", "from;to\nann;bob\n");
  expect_refused("Is the delimiter right");
  write("edges.csv", "ann,bob\nbob,cid\n");
  expect_refused("has no header");
}

TEST_F(OwnGraph, FeaturesThatDoNotFit) {
  write("people.csv", "name,age,height\nann,1,2\nbob,3,nan\n");
  expect_refused("people.csv line 3, column 'height': found 'nan', wanted a finite number");
  write("people.csv", "name,age,height\nann,1,2\nbob,,4\n");
  expect_refused("line 3, column 'age': found ''");
  write("people.csv", "name,age,height\nann,1,2\nbob,1e99,4\n");
  expect_refused("column 'age': found '1e99'");
  write("people.csv", "name,age\nann,1\nann,2\n");
  expect_refused("people.csv line 3: node 'ann' occurs a second time");
  write("people.csv", "1,2,3\n4,5,6\n");
  expect_refused("has no header");
  write("people.csv", "name,age\n");
  expect_refused("has no rows");
  write("people.csv", "name,age\nann,1\nbob,2\ncid,3\n");  // too few rows
  expect_refused("there is no node 'dan'");
  options.features = write("x.csv", "ann,0.1,2\nbob,3,4\n");
  expect_refused("x.csv has no header: its first line holds numbers");
}

TEST_F(OwnGraph, LabelsThatDoNotFit) {
  write("labels.csv", "node,label\nann,yes\nann,no\n");
  expect_refused("labels.csv line 3: node 'ann' is listed a second time");
  write("labels.csv", "node,label\nzoe,yes\n");
  expect_refused("labels.csv line 2: there is no node 'zoe'");
  write("labels.csv", "node,lable\nann,yes\n");
  expect_refused("has no column 'label'; it has: node, lable. Did you mean 'lable'?");
  write("labels.csv", "node,label,split\nann,yes,train\n");
  expect_refused("has a column 'split', which nothing uses. Remove it, or name it with data.split.column");
  write("labels.csv", "node,label\nann,\n");
  expect_refused("no node has a label");
}

TEST_F(OwnGraph, FilesThatAreNotNamed) {
  const std::string labels = std::exchange(options.labels, "");
  EXPECT_EQ(own_graph_files(options, false).size(), 2u);
  EXPECT_NE(message_of<UserError>([&] { own_graph_files(options, true); }).find("data.labels is not set"), std::string::npos);
  options.labels = labels;
  EXPECT_EQ(own_graph_files(options, true).size(), 3u);
  options.test = "test.csv";
  EXPECT_EQ(own_graph_files(options, true).back().first, "test");
  options.features.clear();
  EXPECT_NE(message_of<UserError>([&] { own_graph_files(options, true); }).find("data.features is not set"), std::string::npos);
}

}  // namespace
}  // namespace l0gm
