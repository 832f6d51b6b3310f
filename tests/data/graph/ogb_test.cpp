#include "data/graph/ogb.h"

#include <gtest/gtest.h>

#include "base/files.h"
#include "data/graph/check_graph.h"
#include "data/graph/node_split.h"
#include "l0gm/error.h"
#include "support/real_data.h"
#include "support/temporary_folder.h"

namespace l0gm {
namespace {

void write_small(const TemporaryFolder& folder) {
  folder.write("raw/edge.csv", "0,1\n1,2\n1,2\n2,2\n");
  folder.write("raw/node-feat.csv", "0.5,1\n-1,2\n3,0\n");
  folder.write("raw/node-label.csv", "1\n\n0\n");
  folder.write("raw/num-node-list.csv", "3\n");
  folder.write("raw/num-edge-list.csv", "4\n");
}

TEST(Ogb, SmallFolder) {
  const TemporaryFolder folder;
  write_small(folder);
  const Graph graph = read_ogb(folder.path(), true);
  EXPECT_EQ(graph.nodes, 3);
  EXPECT_EQ(graph.edges(), 4);
  EXPECT_EQ(graph.name, folder.path().filename().string());
  EXPECT_EQ(std::vector<float>(graph.dense.begin(), graph.dense.end()), (std::vector<float>{0.5, 1, -1, 2, 3, 0}));
  EXPECT_EQ(std::vector<int32_t>(graph.labels.begin(), graph.labels.end()), (std::vector<int32_t>{1, -1, 0}));
  EXPECT_EQ(graph.classes, (std::vector<std::string>{"0", "1"}));
  EXPECT_EQ(ogb_files(folder.path()).size(), 5u);
  EXPECT_EQ(ogb_attributes(folder.path()), 2);
  EXPECT_EQ(read_ogb(folder.path(), false).edges(), 2);
}

TEST(Ogb, CountsAreOptionalAndLabelsMayHaveGaps) {
  const TemporaryFolder folder;
  write_small(folder);
  std::filesystem::remove(folder.path() / "raw/num-node-list.csv");
  std::filesystem::remove(folder.path() / "raw/num-edge-list.csv");
  folder.write("raw/node-label.csv", "1.0\nnan\nNaN");
  const Graph graph = read_ogb(folder.path(), true);
  EXPECT_EQ(std::vector<int32_t>(graph.labels.begin(), graph.labels.end()), (std::vector<int32_t>{1, -1, -1}));
  EXPECT_EQ(ogb_files(folder.path()).size(), 3u);
}

TEST(Ogb, BlankLinesAtTheEnd) {
  const TemporaryFolder folder;
  write_small(folder);
  folder.write("raw/node-label.csv", "1\n0\n\n\n\n");
  const Graph graph = read_ogb(folder.path(), true);
  EXPECT_EQ(std::vector<int32_t>(graph.labels.begin(), graph.labels.end()), (std::vector<int32_t>{1, 0, -1}))
      << "the third node's label is unknown";
}

TEST(Ogb, WhatDoesNotFitIsRefused) {
  const TemporaryFolder folder;
  const auto expect_refused = [&](const std::string& name, const std::string& content, const std::string& part) {
    write_small(folder);
    folder.write("raw/" + name + ".csv", content);
    const std::string message = message_of<UserError>([&] { read_ogb(folder.path(), true); });
    EXPECT_NE(message.find(part), std::string::npos) << message;
  };
  expect_refused("edge", "0,1\n1,3\n", "edge.csv line 2: there is no node 3; nodes are numbered from 0 to 2");
  expect_refused("edge", "0,1\n-1,0\n", "line 2: there is no node -1");
  expect_refused("edge", "from,to\n", "line 1: found 'from,to', wanted two numbers");
  expect_refused("edge", "0,1\n", "edge.csv has 1 edges, but raw/num-edge-list says 4");
  expect_refused("node-feat", "0.5,1\n1,2\n", "node-feat.csv has 2 nodes, but raw/num-node-list says 3");
  expect_refused("node-feat", "0.5,1\n1,nan\n3,0\n", "node-feat.csv line 2, column 2: found 'nan', wanted a finite number");
  expect_refused("node-feat", "0.5,1\n1,2\ninf,0\n", "line 3, column 1: found 'inf'");
  expect_refused("node-feat", "0.5,1\n1,2,3\n3,0\n", "line 2 has 3 columns, those before it 2");
  expect_refused("node-feat", "a,b\n1,2\n3,0\n", "line 1, column 1: found 'a'");
  expect_refused("node-label", "1\n0\n", "node-label.csv has 2 lines, but there are 3 nodes");
  expect_refused("node-label", "1\n-1\n0\n", "node-label.csv line 2: found '-1', wanted one class number");
  expect_refused("node-label", "1\n0.5\n0\n", "line 2: found '0.5'");
  expect_refused("node-label", "1\n99999999999\n0\n", "from 0 to 65535");
  expect_refused("node-label", "1\n0,1\n0\n", "several labels cannot be learned");
  expect_refused("num-node-list", "3\n4\n", "should hold one number");
  write_small(folder);
  std::filesystem::remove(folder.path() / "raw/node-feat.csv");
  EXPECT_NE(message_of<UserError>([&] { ogb_files(folder.path()); }).find("no file raw/node-feat.csv.gz"), std::string::npos);
  EXPECT_NE(message_of<UserError>([&] { ogb_files(folder.path() / "none"); }).find("is not a folder"), std::string::npos);
}

std::filesystem::path arxiv() { return real_data_folder() / "graph" / "ogbn_arxiv"; }

TEST(Ogb, RealArxiv) {
  if (!std::filesystem::exists(arxiv() / "raw")) GTEST_SKIP() << "no real data: set L0GM_DATA";
  Graph graph = read_ogb(arxiv(), true);
  read_split(graph, find_split_files(arxiv(), "").value());
  EXPECT_NO_THROW(check_graph(graph, "arxiv"));
  EXPECT_EQ(graph.nodes, 169343);
  EXPECT_EQ(graph.edges(), 2315598);
  EXPECT_EQ(graph.attributes, 40);
  EXPECT_TRUE(graph.is_sparse());
  EXPECT_EQ(graph.classes.size(), 40u);
  EXPECT_EQ(graph.train.size(), 90941u);
  EXPECT_EQ(graph.valid.size(), 29799u);
  EXPECT_EQ(graph.test.size(), 48603u);
}

TEST(Ogb, ACutOffFileIsRefused) {
  if (!std::filesystem::exists(arxiv() / "raw")) GTEST_SKIP() << "no real data: set L0GM_DATA";
  const TemporaryFolder folder;
  for (const char* name : {"edge", "node-feat", "node-label"}) {
    const std::string bytes = read_file(arxiv() / "raw" / (std::string(name) + ".csv.gz"));
    folder.write("raw/" + std::string(name) + ".csv.gz", std::string(name) == "edge" ? bytes.substr(0, bytes.size() / 2) : bytes);
  }
  const std::string message = message_of<UserError>([&] { read_ogb(folder.path(), true); });
  EXPECT_NE(message.find("edge.csv.gz' ends in the middle of its gzip data"), std::string::npos) << message;
}

}  // namespace
}  // namespace l0gm
