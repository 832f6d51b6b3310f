#include "data/graph/source.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

#include "base/files.h"
#include "data/graph/archive_tools.h"
#include "l0gm/error.h"
#include "support/environment.h"
#include "support/real_data.h"
#include "support/temporary_folder.h"

namespace l0gm {
namespace {

namespace fs = std::filesystem;

class GraphSource : public testing::Test {
 protected:
  GraphSource() : cache_variable_("XDG_CACHE_HOME", (folder.path() / "user").c_str()), data_variable_("L0GM_DATA", nullptr) {}
  std::string refusal() const {
    return message_of<UserError>([&] { load_graph(data, graph); });
  }
  void expect_refused(const std::string& part) const {
    const std::string message = refusal();
    EXPECT_NE(message.find(part), std::string::npos) << message;
  }
  int64_t cached() const {
    const fs::path place = graph.cache.empty() ? folder.path() / "user" / "l0gm" / "graphs" : fs::path(graph.cache);
    std::error_code error;
    return std::count_if(fs::directory_iterator(place, error), fs::directory_iterator(), [](const auto&) { return true; });
  }
  // An OGB folder of ten nodes in a ring.
  void write_ring(const std::string& name) {
    std::string edges, features, labels;
    for (int i = 0; i < 10; ++i) {
      edges += std::to_string(i) + "," + std::to_string((i + 1) % 10) + "\n";
      features += std::to_string(i) + ",1\n";
      labels += std::to_string(i % 2) + "\n";
    }
    folder.write(name + "/raw/edge.csv", edges);
    folder.write(name + "/raw/node-feat.csv", features);
    folder.write(name + "/raw/node-label.csv", labels);
    data.graph = (folder.path() / name).string();
    data.source = "ogb";
  }
  void write_split(const std::string& name) {
    folder.write(name + "/split/time/train.csv", "0\n1\n");
    folder.write(name + "/split/time/valid.csv", "2\n");
    folder.write(name + "/split/time/test.csv", "3\n");
  }

  TemporaryFolder folder;
  DataOptions data;
  GraphOptions graph;

 private:
  ScopedVariable cache_variable_, data_variable_;
};

TEST_F(GraphSource, OwnFolderWithItsSplit) {
  write_ring("ring");
  write_split("ring");
  const Graph read = load_graph(data, graph);
  EXPECT_EQ(read.name, "ring");
  EXPECT_EQ(read.edges(), 20);
  EXPECT_EQ(read.train, (std::vector<int64_t>{0, 1}));
  EXPECT_EQ(read.files.size(), 6u);
  EXPECT_EQ(cached(), 1);
  EXPECT_EQ(load_graph(data, graph).train, read.train);
  EXPECT_EQ(cached(), 1);
  graph.undirected = false;
  EXPECT_EQ(load_graph(data, graph).edges(), 10);
  EXPECT_EQ(cached(), 2);
  data.split.seed = 3;
  expect_refused("data.split.seed is 3, but the split is in");
}

TEST_F(GraphSource, OwnFolderWithoutASplitHasOneDrawn) {
  write_ring("ring");
  data.split.valid = data.split.test = 0.2;
  const Graph first = load_graph(data, graph);
  EXPECT_EQ(first.train.size(), 6u);
  data.split.seed = 1;
  const Graph second = load_graph(data, graph);
  EXPECT_NE(first.train, second.train);
  EXPECT_EQ(cached(), 2);
  data.protocol = "time";
  expect_refused("has no folder 'time'");
}

TEST_F(GraphSource, AChangedFileIsConvertedAgain) {
  write_ring("ring");
  graph.cache = (folder.path() / "here").string();
  load_graph(data, graph);
  folder.write("ring/raw/edge.csv", "0,1\n");
  EXPECT_EQ(load_graph(data, graph).edges(), 2);
  EXPECT_EQ(cached(), 2);
}

TEST_F(GraphSource, AMovedGraphIsTheSameUnderItsNewName) {
  write_ring("ring");
  load_graph(data, graph);
  fs::rename(folder.path() / "ring", folder.path() / "moved");
  data.graph = (folder.path() / "moved").string();
  const Graph read = load_graph(data, graph);
  EXPECT_EQ(read.name, "moved");
  EXPECT_EQ(read.files[0].path, folder.path() / "moved/raw/edge.csv");
  EXPECT_EQ(cached(), 1);
}

TEST_F(GraphSource, ADamagedCacheIsMadeAgain) {
  write_ring("ring");
  load_graph(data, graph);
  for (const auto& entry : fs::directory_iterator(folder.path() / "user/l0gm/graphs")) fs::resize_file(entry.path(), 100);
  testing::internal::CaptureStderr();
  EXPECT_EQ(load_graph(data, graph).edges(), 20);
  EXPECT_NE(testing::internal::GetCapturedStderr().find("set aside"), std::string::npos);
  EXPECT_EQ(cached(), 2);
}

TEST_F(GraphSource, NothingIsKeptOfAGraphThatIsRefused) {
  write_ring("ring");
  folder.write("ring/raw/edge.csv", "0,10\n");
  expect_refused("there is no node 10");
  EXPECT_EQ(cached(), 0);
}

TEST_F(GraphSource, OwnArchive) {
  data.source = "npz";
  data.split.valid = 0.3;
  data.split.test = 0;
  fs::copy_file(graph_test_file("protocol3.npz"), folder.path() / "mine.npz");
  data.graph = (folder.path() / "mine.npz").string();
  const Graph read = load_graph(data, graph);
  EXPECT_EQ(read.name, "mine.npz");
  EXPECT_EQ(read.train.size() + read.valid.size(), 5u);
  data.graph.clear();
  expect_refused("data.graph is not set. Set it to your .npz file");
}

TEST_F(GraphSource, ASplitThatIsGivenCanBeDrawnInstead) {
  const auto mask = [](std::vector<uint8_t> nodes) { return npy_of("|b1", "(10,)", bytes_of(nodes)); };
  std::vector<std::pair<std::string, std::string>> arrays = {
      {"edges.npy", npy_of("<i8", "(1, 2)", bytes_of<int64_t>({0, 1}))},
      {"node_features.npy", npy_of("<f4", "(10, 1)", bytes_of<float>({0, 1, 2, 3, 4, 5, 6, 7, 8, 9}))},
      {"node_labels.npy", npy_of("<i8", "(10,)", bytes_of<int64_t>({0, 1, 0, 1, 0, 1, 0, 1, 0, 1}))},
      {"train_mask.npy", mask({1, 1, 0, 0, 0, 0, 0, 0, 0, 0})},
      {"val_mask.npy", mask({0, 0, 1, 1, 0, 0, 0, 0, 0, 0})},
      {"test_mask.npy", mask({0, 0, 0, 0, 1, 1, 1, 1, 1, 1})}};
  data.source = "npz";
  data.graph = folder.write("mine.npz", zip_of(arrays)).string();
  EXPECT_EQ(load_graph(data, graph).train, (std::vector<int64_t>{0, 1}));
  data.split.valid = data.split.test = 0.2;
  expect_refused("data.split.draw = true draws another one");
  data.split.draw = true;
  const Graph drawn = load_graph(data, graph);
  EXPECT_EQ(drawn.train.size(), 6u);
  EXPECT_EQ(drawn.valid.size() + drawn.test.size(), 4u);
  EXPECT_EQ(cached(), 2);
}

TEST_F(GraphSource, OneOfSeveralColumnsIsTheSplit) {
  data.source = "graph";
  data.edges = folder.write("edges.csv", "from,to\na,b\nb,c\nc,d\n").string();
  data.features = folder.write("x.csv", "node,x\na,1\nb,2\nc,3\nd,4\n").string();
  data.labels =
      folder.write("y.csv", "node,label,split_0,split_1\na,0,train,test\nb,1,train,train\nc,0,valid,train\nd,1,test,val\n")
          .string();
  data.split.column = "split_1";
  const Graph read = load_graph(data, graph);
  EXPECT_EQ(read.train.size(), 2u);
  EXPECT_EQ(read.node_name(read.test.at(0)), "a");
  data.split.column.clear();
  expect_refused("has a column 'split_0', which nothing uses");
  data.split.column = "split_0";
  data.labels = folder.write("z.csv", "node,label,split_0,age\na,0,train,31\nb,1,train,2\nc,0,valid,3\nd,1,test,4\n").string();
  expect_refused("only further splits are left aside");
}

TEST_F(GraphSource, OwnLists) {
  data.source = "graph";
  data.edges = folder.write("edges.csv", "from,to\na,b\nb,c\nc,d\n").string();
  data.features = folder.write("x.csv", "node,x\na,1\nb,2\nc,3\nd,4\n").string();
  data.labels = folder.write("y.csv", "node,label\na,0\nb,1\nc,0\nd,1\n").string();
  data.split.valid = data.split.test = 0.25;
  EXPECT_EQ(load_graph(data, graph).edges(), 6);
  EXPECT_EQ(load_graph(data, graph).files.size(), 3u);
  data.graph = "somewhere";
  expect_refused("data.graph is somewhere, but data.source = \"graph\" reads data.edges");
}

TEST_F(GraphSource, LinksNeedNoLabels) {
  data.source = "graph";
  data.edges = folder.write("edges.csv", "from,to\na,b\nb,c\nc,d\n").string();
  data.features = folder.write("x.csv", "node,x\na,1\nb,2\nc,3\nd,4\n").string();
  expect_refused("data.labels is not set");
  graph.task = GraphTaskKind::links;
  for (int time = 0; time < 2; ++time) {  // read, then out of the cache
    const Graph read = load_graph(data, graph);
    EXPECT_EQ(read.train, (std::vector<int64_t>{0, 1, 2, 3}));
    EXPECT_TRUE(read.classes.empty());
    EXPECT_EQ(read.files.size(), 2u);
  }
  data.train = folder.write("train.csv", "node\na\n").string();
  expect_refused("data.train is set for a graph without labels");
}

TEST_F(GraphSource, StoredGraphsWithoutLabelsServeLinksAndPrediction) {
  write_ring("ring");
  const Graph labelled = load_graph(data, graph);
  EXPECT_EQ(load_graph_to_predict(data, graph).edges(), labelled.edges());
  fs::remove(folder.path() / "ring/raw/node-label.csv");
  expect_refused("has no file raw/node-label.csv.gz");
  data.source = "npz";
  const std::vector<std::pair<std::string, std::string>> arrays = {
      {"adj_data.npy", npy_of("<f4", "(2,)", bytes_of<float>({1, 1}))},
      {"adj_indices.npy", npy_of("<i4", "(2,)", bytes_of<int32_t>({1, 0}))},
      {"adj_indptr.npy", npy_of("<i4", "(3,)", bytes_of<int32_t>({0, 1, 2}))},
      {"adj_shape.npy", npy_of("<i8", "(2,)", bytes_of<int64_t>({2, 2}))},
      {"attr_matrix.npy", npy_of("<f4", "(2, 1)", bytes_of<float>({5, 6}))}};
  const std::string archive = folder.write("pair.npz", zip_of(arrays)).string(), ring = data.graph;
  data.graph = archive;
  expect_refused("holds no 'node_label.npy'");
  for (const auto& [source, place, nodes] : {std::tuple("ogb", ring, 10), std::tuple("npz", archive, 2)}) {
    data.source = source;
    data.graph = place;
    graph.task = GraphTaskKind::nodes;
    const Graph predicted = load_graph_to_predict(data, graph);
    EXPECT_EQ(predicted.nodes, nodes);
    EXPECT_TRUE(predicted.classes.empty());
    EXPECT_TRUE(std::all_of(predicted.labels.begin(), predicted.labels.end(), [](int32_t label) { return label == -1; }));
    graph.task = GraphTaskKind::links;
    for (int time = 0; time < 2; ++time) EXPECT_EQ(load_graph(data, graph).train.size(), static_cast<size_t>(nodes)) << source;
  }
}

TEST_F(GraphSource, PredictionLooksAtNoLabelsAndNoSplit) {
  data.source = "graph";
  data.edges = folder.write("edges.csv", "from,to\na,b\nb,c\n").string();
  data.features = folder.write("x.csv", "node,x\na,1\nb,2\nc,3\n").string();
  data.labels = folder.write("y.csv", "node,label\na,0\n").string();
  data.train = (folder.path() / "nowhere.csv").string();
  EXPECT_NE(refusal(), "");
  EXPECT_TRUE(load_graph_to_predict(data, graph).classes.empty());
  data = {};
  write_ring("ring");
  folder.write("ring/raw/node-label.csv", "not a number\n");
  EXPECT_NE(refusal(), "");
  EXPECT_EQ(load_graph_to_predict(data, graph).nodes, 10);
}

TEST_F(GraphSource, TheEndingSaysHowAFileIsRead) {
  data.source = "graph";
  data.edges = folder.write("edges.tsv", "from\tto\na\tb\nb\tc\nc\td\n").string();
  data.features = folder.write("x.csv", "node,x\na,1\nb,2\nc,3\nd,4\n").string();
  data.labels = folder.write("y.csv", "node,label\na,0\nb,1\nc,0\nd,1\n").string();
  data.split.valid = data.split.test = 0.25;
  EXPECT_EQ(load_graph(data, graph).edges(), 6);
  data.edges = folder.write("edges.csv", "from\tto\na\tb\nb\tc\nc\td\n").string();
  expect_refused("wanted two, from and to");
}

TEST_F(GraphSource, FilesThatAreWrittenToMeanwhileAreRefused) {
  write_ring("ring");
  const fs::path edges = folder.path() / "ring/raw/edge.csv";
  std::atomic<bool> done = false;
  std::jthread writer([&] {
    for (int64_t second = 1; !done; ++second) fs::last_write_time(edges, fs::file_time_type(std::chrono::seconds(second)));
  });
  int refused = 0;
  for (int i = 0; i < 200 && refused == 0; ++i) {
    graph.cache = (folder.path() / ("cache" + std::to_string(i))).string();
    try {
      load_graph(data, graph);
    } catch (const UserError& error) {
      refused += std::string(error.what()).find("were written to while they were read") != std::string::npos;
    }
  }
  done = true;
  EXPECT_EQ(refused, 1);
}

TEST_F(GraphSource, APipeIsRefusedAtOnce) {
  write_ring("ring");
  const fs::path pipe = folder.path() / "ring/raw/edge.csv";
  fs::remove(pipe);
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_NE(refusal(), "");
  data = {};
  data.source = "npz";
  data.graph = (folder.path() / "pipe.npz").string();
  ASSERT_EQ(mkfifo(data.graph.c_str(), 0600), 0);
  expect_refused("is a pipe or a device");
}

TEST_F(GraphSource, OptionsWithoutEffectAreRefused) {
  write_ring("ring");
  data.edges = "edges.csv";
  expect_refused("data.edges is edges.csv, but data.source = \"ogb\" reads data.graph");
  data.edges.clear();
  data.rows = 50000;
  expect_refused("data.rows is 50000, but the graph brings its own nodes");
  data.rows = DataOptions().rows;
  graph.scale = 0.5;
  expect_refused("graph.scale is 0.5, but only products-like comes in sizes");
  graph.scale = 1;
  data.types = {{"a", "numeric"}};
  expect_refused("data.types is set");
  data = {};
  data.source = "planted-graph";
  data.split.test = 0.5;
  expect_refused("data.split.test is 0.5, but data.source = \"planted-graph\" brings its own split");
  data = {};
  data.source = "planted-graph";
  graph.undirected = false;
  expect_refused("graph.undirected is false");
  graph.undirected = true;
  data.source = "products-like";
  data.rows = 50000;
  expect_refused("graph.scale says how large");
  data = {};
  data.source = "amazon-computers";
  data.split.seed = 4;
  expect_refused("data.split.seed is 4");
  data = {};
  data.source = "amazon-computers";
  data.protocol = "time";
  expect_refused("it has: random60");
  data = {};
  data.source = "graph";
  data.split.column = "part";
  data.split.valid = 0.3;
  expect_refused("data.split.column = \"part\" says which nodes are held out");
  data = {};
  data.source = "adult";
  expect_refused("is a table, wanted a graph");
  data.source.clear();
  expect_refused("data.source is not set");
}

TEST_F(GraphSource, ArchivesOfOthersAreToBeUnpackedByHand) {
  data.source = "ogbn-products";
  const std::string message = refusal();
  EXPECT_NE(message.find("graph/ogbn_products/raw/edge.csv.gz was not found"), std::string::npos) << message;
  EXPECT_NE(message.find("http://snap.stanford.edu/ogb/data/nodeproppred/products.zip"), std::string::npos) << message;
}

TEST_F(GraphSource, GuessesAreNotTheOfficialGraph) {
  std::string row = "1";
  for (int i = 1; i < 40; ++i) row += ",0";
  for (const char* name : {"edge", "node-label", "num-node-list", "num-edge-list"})
    folder.write(std::string("data/ogbn_arxiv/raw/") + name + ".csv", "0\n");
  folder.write("data/ogbn_arxiv/raw/node-feat.csv", row + "\n");
  for (const char* name : {"train", "valid", "test"})
    folder.write(std::string("data/ogbn_arxiv/split/time/") + name + ".csv", "0\n");
  data.source = "ogbn-arxiv";
  data.dir = (folder.path() / "data").string();
  const std::string message = refusal();
  EXPECT_NE(message.find("40 columns, wanted 128"), std::string::npos) << message;
  EXPECT_NE(message.find("arxiv-guesses"), std::string::npos) << message;
}

TEST_F(GraphSource, MadeGraphs) {
  data.source = "planted-graph";
  data.rows = 500;
  EXPECT_EQ(load_graph(data, graph).nodes, 500);
  EXPECT_EQ(cached(), 0);
  data = {};
  data.source = "products-like";
  graph.scale = 0.0005;
  const Graph first = load_graph(data, graph), again = load_graph(data, graph);
  EXPECT_EQ(cached(), 1);
  EXPECT_EQ(first.edges(), again.edges());
  EXPECT_EQ(std::vector<int32_t>(first.neighbours.begin(), first.neighbours.end()),
            std::vector<int32_t>(again.neighbours.begin(), again.neighbours.end()));
  data.split.seed = 1;
  EXPECT_NE(load_graph(data, graph).edges(), first.edges());
  EXPECT_EQ(cached(), 2);
}

TEST_F(GraphSource, RealGraphs) {
  const fs::path real = fs::path(L0GM_SOURCE_DIR) / ".." / "shared" / "data";
  if (!fs::exists(real / "graph" / "ogbn_arxiv")) GTEST_SKIP() << "no real data beside the source folder";
  data.dir = real.string();
  data.source = "amazon-computers";
  const Graph computers = load_graph(data, graph);
  EXPECT_EQ(computers.edges(), 491722);
  EXPECT_EQ(computers.files.size(), 4u);
  EXPECT_EQ(load_graph(data, graph).train, computers.train);
  data.source = "arxiv-guesses";
  EXPECT_EQ(load_graph(data, graph).edges(), 2315598);
  data.source = "ogbn-arxiv";
  expect_refused("arxiv-guesses");
}

}  // namespace
}  // namespace l0gm
