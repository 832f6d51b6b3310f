#include "data/graph/npz.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "data/graph/archive_tools.h"
#include "data/graph/check_graph.h"
#include "data/graph/node_split.h"
#include "data/graph/zip.h"
#include "l0gm/error.h"
#include "support/real_data.h"
#include "support/temporary_folder.h"

namespace l0gm {
namespace {

template <class T>
std::vector<T> list(const SharedArray<T>& values) {
  return {values.begin(), values.end()};
}

// Small graphs in the plain layout, with single entries replaced.
using Entries = std::map<std::string, std::string>;
Entries plain_entries() {
  return {{"adj_data", npy_of("<f4", "(2,)", bytes_of<float>({1, 1}))},
          {"adj_indices", npy_of("<i4", "(2,)", bytes_of<int32_t>({1, 0}))},
          {"adj_indptr", npy_of("<i4", "(3,)", bytes_of<int32_t>({0, 1, 2}))},
          {"adj_shape", npy_of("<i8", "(2,)", bytes_of<int64_t>({2, 2}))},
          {"attr_matrix", npy_of("<f4", "(2, 1)", bytes_of<float>({5, 6}))},
          {"labels", npy_of("<i8", "(2,)", bytes_of<int64_t>({0, 1}))}};
}

std::string zip_of_entries(const Entries& entries) {
  std::vector<std::pair<std::string, std::string>> files;
  for (const auto& [name, content] : entries) files.emplace_back(name + ".npy", content);
  return zip_of(files);
}

TEST(Npz, EveryLayoutAndProtocolGivesTheSameGraph) {
  for (const char* name : {"protocol2.npz", "protocol3.npz", "protocol4.npz", "plain.npz"}) {
    const Graph graph = read_npz(graph_test_file(name), true);
    EXPECT_EQ(graph.nodes, 6) << name;
    EXPECT_EQ(list(graph.offsets), (std::vector<int64_t>{0, 2, 4, 6, 7, 8, 8})) << name;
    EXPECT_EQ(list(graph.neighbours), (std::vector<int32_t>{1, 2, 0, 2, 0, 1, 4, 3})) << name;
    EXPECT_EQ(graph.attributes, 5) << name;
    EXPECT_EQ(list(graph.sparse.offsets), (std::vector<int64_t>{0, 2, 3, 3, 3, 4, 4})) << name;
    EXPECT_EQ(list(graph.sparse.columns), (std::vector<int32_t>{1, 3, 2, 4})) << name;
    EXPECT_EQ(list(graph.sparse.values), (std::vector<float>{1, 2, 0.75, -1.5})) << name;
    EXPECT_EQ(list(graph.labels), (std::vector<int32_t>{0, 1, 2, 0, 1, -1})) << name;
    EXPECT_EQ(graph.classes, (std::vector<std::string>{"first", "second", "dritte über"})) << name;
    EXPECT_TRUE(graph.symmetric && graph.is_sparse()) << name;
  }
}

TEST(Npz, RowIsWhereTheEdgeBegins) {
  const Graph graph = read_npz(graph_test_file("plain.npz"), false);
  EXPECT_EQ(graph.edges(), 5);
  ASSERT_EQ(graph.degree(1), 1);
  EXPECT_EQ(graph.in_neighbours(1)[0], 0);  // 0 -> 1
  EXPECT_FALSE(graph.symmetric);
}

TEST(Npz, DenseAttributesAndUnnamedClasses) {
  const TemporaryFolder folder;
  const Graph graph = read_npz(folder.write("a.npz", zip_of_entries(plain_entries())), true);
  EXPECT_EQ(list(graph.dense), (std::vector<float>{5, 6}));
  EXPECT_FALSE(graph.is_sparse());
  EXPECT_EQ(graph.classes, (std::vector<std::string>{"0", "1"}));
}

// Four nodes on a path, two splits; a row of each mask is a split.
Entries benchmark_entries() {
  return {{"edges", npy_of("<i8", "(3, 2)", bytes_of<int64_t>({0, 1, 1, 2, 2, 3}))},
          {"node_features", npy_of("<f4", "(4, 1)", bytes_of<float>({5, 6, 7, 8}))},
          {"node_labels", npy_of("<i8", "(4,)", bytes_of<int64_t>({0, 1, 1, 0}))},
          {"train_masks", npy_of("|b1", "(2, 4)", bytes_of<uint8_t>({1, 1, 0, 0, 0, 0, 1, 1}))},
          {"val_masks", npy_of("|b1", "(2, 4)", bytes_of<uint8_t>({0, 0, 1, 0, 0, 1, 0, 0}))},
          {"test_masks", npy_of("|b1", "(2, 4)", bytes_of<uint8_t>({0, 0, 0, 1, 1, 0, 0, 0}))}};
}

TEST(Npz, ListsOfEdgesInEveryShape) {
  const TemporaryFolder folder;
  const Graph rows = read_npz(folder.write("a.npz", zip_of_entries(benchmark_entries())), true);
  EXPECT_EQ(rows.nodes, 4);
  EXPECT_EQ(list(rows.neighbours), (std::vector<int32_t>{1, 0, 2, 1, 3, 2}));
  EXPECT_EQ(list(rows.labels), (std::vector<int32_t>{0, 1, 1, 0}));
  EXPECT_EQ(list(rows.dense), (std::vector<float>{5, 6, 7, 8}));
  Entries entries = benchmark_entries();
  entries["edges"] = npy_of("<i8", "(3, 2)", bytes_of<int64_t>({0, 1, 2, 1, 2, 3}), true);  // columns first
  EXPECT_EQ(list(read_npz(folder.write("b.npz", zip_of_entries(entries)), true).neighbours), list(rows.neighbours));
  entries.erase("edges");
  entries["edge_index"] = npy_of("<i8", "(2, 3)", bytes_of<int64_t>({0, 1, 2, 1, 2, 3}));
  EXPECT_EQ(list(read_npz(folder.write("c.npz", zip_of_entries(entries)), true).neighbours), list(rows.neighbours));
  entries["edge_index"] = npy_of("<i8", "(2, 1)", bytes_of<int64_t>({0, 4}));
  EXPECT_THROW(read_npz(folder.write("d.npz", zip_of_entries(entries)), true), UserError) << "there is no node 4";
  entries["edge_index"] = npy_of("<i8", "(6,)", bytes_of<int64_t>({0, 1, 2, 1, 2, 3}));
  EXPECT_THROW(read_npz(folder.write("e.npz", zip_of_entries(entries)), true), UserError);
}

TEST(Npz, SplitsInsideTheArchive) {
  const TemporaryFolder folder;
  const auto path = folder.write("a.npz", zip_of_entries(benchmark_entries()));
  EXPECT_TRUE(npz_has_masks(path));
  EXPECT_FALSE(npz_has_masks(folder.write("plain.npz", zip_of_entries(plain_entries()))));
  const auto split = [](const std::filesystem::path& file, const std::string& protocol) {
    Graph graph = read_npz(file, true);
    read_npz_split(graph, file, protocol);
    return std::vector<std::vector<int64_t>>{graph.train, graph.valid, graph.test};
  };
  using Parts = std::vector<std::vector<int64_t>>;
  EXPECT_EQ(split(path, ""), (Parts{{0, 1}, {2}, {3}}));
  EXPECT_EQ(split(path, "0"), (Parts{{0, 1}, {2}, {3}}));
  EXPECT_EQ(split(path, "1"), (Parts{{2, 3}, {1}, {0}}));
  EXPECT_NE(message_of<UserError>([&] { split(path, "2"); }).find("holds the splits 0 to 1"), std::string::npos);
  EXPECT_THROW(split(path, "first"), UserError);
  Entries entries = benchmark_entries();  // a column is a split, and one mask alone for the test
  entries["train_masks"] = npy_of("|b1", "(4, 2)", bytes_of<uint8_t>({1, 0, 1, 0, 0, 1, 0, 1}));
  entries["val_masks"] = npy_of("|b1", "(4, 2)", bytes_of<uint8_t>({0, 0, 0, 1, 1, 0, 0, 0}));
  entries["test_masks"] = npy_of("|b1", "(4, 2)", bytes_of<uint8_t>({0, 1, 0, 0, 0, 0, 1, 0}));
  EXPECT_EQ(split(folder.write("b.npz", zip_of_entries(entries)), "1"), (Parts{{2, 3}, {1}, {0}}));
  entries["test_masks"] = npy_of("|b1", "(4,)", bytes_of<uint8_t>({0, 0, 0, 1}));
  EXPECT_NE(message_of<UserError>([&] { split(folder.write("c.npz", zip_of_entries(entries)), "1"); }).find("2, 2 and 1 splits"),
            std::string::npos);
  entries["test_masks"] = npy_of("|b1", "(4, 2)", bytes_of<uint8_t>({1, 1, 0, 0, 0, 0, 1, 0}));
  EXPECT_NE(message_of<UserError>([&] {
              split(folder.write("d.npz", zip_of_entries(entries)), "0");
            }).find("node 0 is in two parts"),
            std::string::npos);
}

TEST(Npz, WhatDoesNotFitIsRefused) {
  const TemporaryFolder folder;
  const auto expect_refused = [&](const std::string& name, const std::string& content, const std::string& part) {
    Entries entries = plain_entries();
    if (content.empty()) {
      entries.erase(name);
    } else {
      entries[name] = content;
    }
    const auto path = folder.write("a.npz", zip_of_entries(entries));
    const std::string message = message_of<UserError>([&] { read_npz(path, true); });
    EXPECT_NE(message.find(part), std::string::npos) << message;
  };
  expect_refused("adj_indptr", "", "has neither 'adj_matrix' nor 'adj_data'");
  expect_refused("adj_data", "", "holds no 'adj_data.npy'");
  expect_refused("adj_indices", npy_of("<i4", "(2,)", bytes_of<int32_t>({1, 2})),
                 "row 1 has an entry in column 2, which does not exist");
  expect_refused("adj_indices", npy_of("<i4", "(2,)", bytes_of<int32_t>({-1, 0})), "column -1");
  expect_refused("adj_indptr", npy_of("<i4", "(3,)", bytes_of<int32_t>({0, 2, 1})), "do not make a CSR matrix");
  expect_refused("adj_indptr", npy_of("<i4", "(3,)", bytes_of<int32_t>({0, 5, 2})), "do not make a CSR matrix");
  expect_refused("adj_indptr", npy_of("<i4", "(0,)", ""), "do not make a CSR matrix");
  expect_refused("adj_shape", npy_of("<i8", "(2,)", bytes_of<int64_t>({2, 3})), "2 rows and 3 columns");
  expect_refused("adj_shape", npy_of("<i8", "(2,)", bytes_of<int64_t>({int64_t{1} << 40, 2})), "at most");
  expect_refused("adj_shape", npy_of("<i8", "(1,)", bytes_of<int64_t>({2})), "1 numbers, wanted 2");
  expect_refused("attr_matrix", npy_of("<f4", "(1, 1)", bytes_of<float>({5})), "has 1 rows, but the adjacency has 2 nodes");
  expect_refused("attr_matrix", npy_of("<f4", "(2,)", bytes_of<float>({5, 6})), "wanted [nodes, attributes]");
  expect_refused("attr_matrix", "", "neither 'node_attr' nor 'attr_data'");
  expect_refused("labels", npy_of("<i8", "(1,)", bytes_of<int64_t>({0})), "1 labels, but the adjacency has 2 nodes");
  expect_refused("labels", npy_of("<i8", "(2,)", bytes_of<int64_t>({0, -2})), "label of node 1 is -2");
  expect_refused("labels", npy_of("<i8", "(2,)", bytes_of<int64_t>({0, 4000000000})), "label of node 1 is 4000000000");
  expect_refused("labels", npy_of("<i8", "(1, 2)", bytes_of<int64_t>({0, 1})), "2 dimensions");
  expect_refused("labels", "", "holds no 'node_label.npy'");
  expect_refused("class_names", npy_of("|S1", "(1,)", "a"), "label of node 1 is 1, wanted 0 to 0");
}

TEST(Npz, ClassesHaveNamesOfTheirOwn) {
  const TemporaryFolder folder;
  Entries entries = plain_entries();
  entries["class_names"] = npy_of("|S1", "(2,)", "aa");
  Graph graph = read_npz(folder.write("a.npz", zip_of_entries(entries)), true);
  graph.train = {0};
  EXPECT_NE(message_of<UserError>([&] { check_graph(graph, "a"); }).find("two classes are called 'a'"), std::string::npos);
}

TEST(Npz, AFileThatIsCutOffIsRefused) {
  const TemporaryFolder folder;
  const std::string bytes = read_file(graph_test_file("protocol3.npz"));
  const std::string message =
      message_of<UserError>([&] { read_npz(folder.write("a.npz", bytes.substr(0, bytes.size() / 2)), true); });
  EXPECT_NE(message.find("a.npz' cannot be read as a zip archive: its end is missing: it is cut off"), std::string::npos)
      << message;
}

// Checksums catch damage on the way; an archive that was written wrong has right ones.
TEST(Npz, DamageInsideIsAMessageOrAGraph) {
  const TemporaryFolder folder;
  int refused = 0, read = 0;
  for (const char* damaged_name : {"adj_matrix.npy", "metadata.npy"}) {
    const ZipArchive archive(graph_test_file("protocol4.npz"));
    std::vector<std::pair<std::string, std::string>> entries;
    size_t which = 0;
    for (const std::string& name : archive.names()) {
      if (name == damaged_name) which = entries.size();
      entries.emplace_back(name, archive.read(name));
    }
    each_damage(entries[which].second, false, [&](const std::string& damaged) {
      auto changed = entries;
      changed[which].second = damaged;
      with_file(folder.path(), zip_of(changed), [&](const std::filesystem::path& path) {
        try {
          Graph graph = read_npz(path, true);
          graph.train = {0};
          check_graph(graph, "damaged");
          read += 1;
        } catch (const UserError&) {
          refused += 1;
        }
      });
    });
  }
  EXPECT_GT(refused, 500);
  EXPECT_GT(read, 10);
}

void expect_real(const std::string& name, int64_t nodes, int64_t attributes, size_t classes, int64_t edges,
                 const std::string& a_class) {
  const std::filesystem::path folder = real_data_folder() / "graph" / name;
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "no real data: set L0GM_DATA";
  Graph graph = read_npz(folder / (name + ".npz"), true);
  read_split(graph, find_split_files(folder, "").value());
  EXPECT_NO_THROW(check_graph(graph, name));
  EXPECT_EQ(graph.nodes, nodes);
  EXPECT_EQ(graph.attributes, attributes);
  EXPECT_EQ(graph.classes.size(), classes);
  EXPECT_EQ(graph.edges(), edges);
  EXPECT_NE(std::find(graph.classes.begin(), graph.classes.end(), a_class), graph.classes.end());
  EXPECT_TRUE(graph.is_sparse());
  EXPECT_EQ(static_cast<int64_t>(graph.train.size() + graph.valid.size() + graph.test.size()), nodes);
  EXPECT_NEAR(static_cast<double>(graph.train.size()) / static_cast<double>(nodes), 0.6, 0.01);
}

TEST(Npz, RealComputers) { expect_real("amazon_computers", 13752, 767, 10, 491722, "Desktops"); }
TEST(Npz, RealCoauthors) { expect_real("coauthor_cs", 18333, 6805, 15, 163788, "machine_learning"); }

}  // namespace
}  // namespace l0gm
