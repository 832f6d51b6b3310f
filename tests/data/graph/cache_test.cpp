#include "data/graph/cache.h"

#include <gtest/gtest.h>

#include "base/files.h"
#include "data/graph/archive_tools.h"
#include "data/graph/small_graph.h"
#include "l0gm/error.h"
#include "support/temporary_folder.h"

namespace l0gm {
namespace {

template <class T>
std::vector<T> list(const SharedArray<T>& values) {
  return {values.begin(), values.end()};
}

void expect_same(const Graph& a, const Graph& b) {
  EXPECT_EQ(a.name, b.name);
  EXPECT_EQ(a.nodes, b.nodes);
  EXPECT_EQ(list(a.offsets), list(b.offsets));
  EXPECT_EQ(list(a.neighbours), list(b.neighbours));
  EXPECT_EQ(a.symmetric, b.symmetric);
  EXPECT_EQ(a.attributes, b.attributes);
  EXPECT_EQ(list(a.dense), list(b.dense));
  EXPECT_EQ(list(a.sparse.offsets), list(b.sparse.offsets));
  EXPECT_EQ(list(a.sparse.columns), list(b.sparse.columns));
  EXPECT_EQ(list(a.sparse.values), list(b.sparse.values));
  EXPECT_EQ(a.attribute_names, b.attribute_names);
  EXPECT_EQ(list(a.labels), list(b.labels));
  EXPECT_EQ(a.classes, b.classes);
  EXPECT_EQ(a.train, b.train);
  EXPECT_EQ(a.valid, b.valid);
  EXPECT_EQ(a.test, b.test);
  EXPECT_EQ(a.node_names, b.node_names);
  EXPECT_EQ(a.planted, b.planted);
  ASSERT_EQ(a.files.size(), b.files.size());
  for (size_t i = 0; i < a.files.size(); ++i) {
    EXPECT_EQ(a.files[i].path, b.files[i].path);
    EXPECT_EQ(a.files[i].sha256, b.files[i].sha256);
  }
}

Graph rich_graph(bool sparse) {
  Graph graph = small_graph(sparse);
  graph.node_names = {"a", "b\"", "ü", ""};
  graph.planted = {"x"};
  graph.files = {{"some/file", "0123"}};
  return graph;
}

TEST(GraphCache, WhatIsWrittenIsRead) {
  const TemporaryFolder folder;
  for (const bool sparse : {false, true}) {
    write_graph(folder.path() / "a.graph", rich_graph(sparse));
    expect_same(read_graph(folder.path() / "a.graph"), rich_graph(sparse));
  }
}

TEST(GraphCache, ArraysOutliveTheGraphAndTheFile) {
  const TemporaryFolder folder;
  write_graph(folder.path() / "a.graph", rich_graph(false));
  SharedArray<float> dense;
  {
    const Graph graph = read_graph(folder.path() / "a.graph");
    dense = graph.dense;
  }
  std::filesystem::remove(folder.path() / "a.graph");
  EXPECT_EQ(list(dense), list(rich_graph(false).dense));
}

TEST(GraphCache, DamageIsRefused) {
  const TemporaryFolder folder;
  for (const bool sparse : {false, true}) {
    write_graph(folder.path() / "a.graph", rich_graph(sparse));
    const std::string bytes = read_file(folder.path() / "a.graph");
    int refused = 0, read = 0;
    each_damage(bytes, false, [&](const std::string& damaged) {
      with_file(folder.path(), damaged, [&](const std::filesystem::path& path) {
        try {
          expect_same(read_graph(path), rich_graph(sparse));  // only bytes that are not read can change undetected
          read += 1;
        } catch (const UserError&) {
          refused += 1;
        }
      });
    });
    EXPECT_GT(refused, 1000);
    EXPECT_LT(read, 100);  // blanks and the kind in the header
  }
}

// A file whose hash is right can still be no graph.
TEST(GraphCache, ContentIsCheckedToo) {
  const TemporaryFolder folder;
  Graph graph = rich_graph(false);
  graph.neighbours = std::vector<int32_t>{1, 0, 2, 1, 9, 2};
  write_graph(folder.path() / "a.graph", graph);
  EXPECT_THROW(read_graph(folder.path() / "a.graph"), UserError);
}

TEST(GraphCache, MadeOnceAndAgainWhenDamaged) {
  const TemporaryFolder folder;
  int made = 0;
  const auto make = [&] {
    made += 1;
    return rich_graph(true);
  };
  const auto place = folder.path() / "cache";
  expect_same(cached_graph(place, "key", make), rich_graph(true));
  expect_same(cached_graph(place, "key", make), rich_graph(true));
  EXPECT_EQ(made, 1);
  cached_graph(place, "other", make);
  EXPECT_EQ(made, 2);
  std::string bytes = read_file(place / "key.graph");
  bytes[bytes.size() - 3] = static_cast<char>(bytes[bytes.size() - 3] ^ 1);
  folder.write("cache/key.graph", bytes);
  testing::internal::CaptureStderr();
  expect_same(cached_graph(place, "key", make), rich_graph(true));
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("warning"), std::string::npos) << said;
  EXPECT_NE(said.find("key.graph.damaged"), std::string::npos) << said;
  EXPECT_EQ(made, 3);
  EXPECT_TRUE(std::filesystem::exists(place / "key.graph.damaged"));
  cached_graph(place, "key", make);
  EXPECT_EQ(made, 3);
}

TEST(GraphCache, AFolderThatCannotBeWrittenCostsAWarning) {
  const TemporaryFolder folder;
  folder.write("file", "in the way");
  testing::internal::CaptureStderr();
  expect_same(cached_graph(folder.path() / "file", "key", [] { return rich_graph(true); }), rich_graph(true));
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("could not be stored"), std::string::npos) << said;
  expect_same(cached_graph("", "key", [] { return rich_graph(true); }), rich_graph(true));
}

}  // namespace
}  // namespace l0gm
