#include "batches/graph/thinned_edges.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/random.h"
#include "batches/graph/graph_batches.h"
#include "data/graph/links.h"

// What a device picks with tensor operations is what the host builds.
namespace l0gm {
namespace {

Graph random_graph(int64_t nodes, int64_t edges, bool undirected, uint64_t seed = 7) {
  RandomStream random(seed);
  Graph graph;
  graph.nodes = nodes;
  EdgeList list;
  const auto any = [&] { return static_cast<int32_t>(random.below(static_cast<uint64_t>(nodes - 3))); };  // three without edges
  for (int64_t i = 0; i < edges; ++i) {
    list.from.push_back(any());
    list.to.push_back(any());
  }
  build_adjacency(graph, std::move(list), undirected);
  graph.attributes = 2;
  std::vector<int64_t> offsets = {0};
  std::vector<int32_t> columns;
  std::vector<float> values;
  for (int64_t node = 0; node < nodes; ++node) {
    for (int32_t column = 0; column < 2; ++column) {
      if ((node + column) % 3 == 0) continue;
      columns.push_back(column);
      values.push_back(static_cast<float>(node) + 0.5F * static_cast<float>(column));
    }
    offsets.push_back(std::ssize(columns));
  }
  graph.sparse = {std::move(offsets), std::move(columns), std::move(values)};
  graph.labels = std::vector<int32_t>(static_cast<size_t>(nodes), 0);
  graph.classes = {"a", "b"};
  return graph;
}

ThinnedEdges edges_of(const Graph& graph) {
  return ThinnedEdges(Adjacency::of(whole_block(graph), torch::kCPU, torch::kFloat64));
}

void expect_same_transpose(const Adjacency& got, const Adjacency::Transposed& wanted) {
  const Adjacency::Transposed& transposed = got.transposed(true);
  EXPECT_TRUE(at::equal(transposed.offsets, wanted.offsets));
  EXPECT_TRUE(at::equal(transposed.neighbours, wanted.neighbours));
  EXPECT_TRUE(at::equal(transposed.edge_of, wanted.edge_of));
}

void expect_same(const Adjacency& got, const Adjacency& wanted) {
  EXPECT_EQ(got.sources(), wanted.sources());
  EXPECT_EQ(got.symmetric(), wanted.symmetric());
  EXPECT_TRUE(at::equal(got.offsets, wanted.offsets));
  EXPECT_TRUE(at::equal(got.neighbours, wanted.neighbours));
  EXPECT_TRUE(at::equal(got.target_degree, wanted.target_degree));
  EXPECT_TRUE(at::equal(got.source_degree, wanted.source_degree));
  ASSERT_EQ(got.own.defined(), wanted.own.defined());
  if (got.own.defined()) {
    EXPECT_TRUE(at::equal(got.own, wanted.own));
  }
  expect_same_transpose(got, transpose_by_counting(wanted));
}

// Shares on both sides of a half, where numbers in single and in double precision round differently.
TEST(ThinnedEdges, AreThoseThatTheHostDraws) {
  for (const bool undirected : {true, false}) {
    const Graph graph = random_graph(200, 3000, undirected);
    const ThinnedEdges edges = edges_of(graph);
    for (const double share : {0.1, 0.3, 0.6, 0.7, 0.95}) {
      for (const uint64_t key : {1ULL, 0xFFFF0000FFFFULL}) {
        const auto block = thinned_block(graph, share, key);
        expect_same(*edges.pick(share, key), *Adjacency::of(block, torch::kCPU, torch::kFloat64));
        EXPECT_LT(block->neighbours.size(), graph.edges());
      }
    }
  }
}

TEST(ThinnedEdges, WithoutTheLinksOfAStep) {
  for (const bool undirected : {true, false}) {
    const Graph graph = random_graph(150, 1500, undirected);
    const ThinnedEdges edges = edges_of(graph);
    const std::vector<Link> all = links_of(graph);
    const std::vector<Link> some(all.begin() + 20, all.begin() + 220);
    std::vector<int64_t> places = places_of_links(graph, some);
    EXPECT_TRUE(std::is_sorted(places.begin(), places.end()));
    const torch::Tensor gone = at::tensor(places, torch::kInt64);
    for (const double share : {0.0, 0.4}) {
      const auto block = block_without_links(graph, some, share, 5);
      expect_same(*edges.pick(share, 5, gone), *Adjacency::of(block, torch::kCPU, torch::kFloat64));
    }
  }
}

TEST(ThinnedEdges, NothingLeft) {
  const Graph graph = random_graph(20, 60, true);
  const torch::Tensor gone = at::arange(graph.edges(), torch::kInt64);
  const auto picked = edges_of(graph).pick(0.5, 1, gone);
  EXPECT_EQ(picked->edges(), 0);
  EXPECT_EQ(picked->target_degree.sum().item<double>(), 0);
  EXPECT_EQ(picked->transposed(true).edge_of.size(0), 0);
}

void expect_same_batch(const GraphBatch& got, const GraphBatch& wanted) {
  EXPECT_TRUE(at::equal(got.input_ids, wanted.input_ids));
  EXPECT_TRUE(at::equal(got.example_ids, wanted.example_ids));
  EXPECT_TRUE(at::equal(got.attributes.sparse->offsets, wanted.attributes.sparse->offsets));
  EXPECT_TRUE(at::equal(got.attributes.sparse->neighbours, wanted.attributes.sparse->neighbours));
  EXPECT_TRUE(at::equal(got.attributes.sparse->weights, wanted.attributes.sparse->weights));
  ASSERT_EQ(got.examples.defined(), wanted.examples.defined());
  ASSERT_EQ(got.blocks.size(), wanted.blocks.size());
  for (size_t layer = 0; layer < got.blocks.size(); ++layer) {
    EXPECT_TRUE(at::equal(got.output_ids[layer], wanted.output_ids[layer])) << layer;
    expect_same(*got.blocks[layer], *wanted.blocks[layer]);
  }
}

// Few nodes, whose layers stay small; some, of which an earlier layer needs all; nearly all; all.
TEST(CompleteTensorPlan, IsThatOfTheHost) {
  for (const bool undirected : {true, false}) {
    for (const int64_t edges : {150, 1200}) {
      const Graph graph = random_graph(300, edges, undirected);
      const GraphTensors tensors(graph, torch::kCPU, torch::kFloat64);
      const auto whole = whole_block(graph);
      for (const int64_t count : {2, 60, 290, 300}) {
        for (const bool reversed : {false, true}) {
          std::vector<int64_t> nodes;
          for (int64_t i = 0; i < count; ++i) nodes.push_back(i * 300 / count);
          if (reversed) std::reverse(nodes.begin(), nodes.end());
          const auto wanted = tensors.batch(complete_plan(graph, whole, nodes, 3));
          const torch::Tensor on_device = at::tensor(nodes, torch::kInt64);
          const auto got = tensors.batch(complete_tensor_plan(tensors.adjacency_of(whole), on_device, 3));
          expect_same_batch(*got, *wanted);
        }
      }
    }
  }
}

}  // namespace
}  // namespace l0gm
