#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <mutex>
#include <set>
#include <thread>

#include "batches/graph/graph_batches.h"
#include "batches/graph/row_parts.h"
#include "encoders/graph/toy_blocks.h"

namespace l0gm {
namespace {

using namespace testing_tools;

torch::Tensor integers(const std::vector<int64_t>& values) { return at::tensor(values, torch::kInt64); }

TEST(Parallel, WorksInTorchsThreads) {
  const int before = at::get_num_threads();
  at::set_num_threads(4);
  std::mutex mutex;
  std::set<std::thread::id> threads;
  std::multiset<int64_t> parts;
  in_parallel(4, [&](int64_t part) {
    const std::lock_guard lock(mutex);
    threads.insert(std::this_thread::get_id());
    parts.insert(part);
  });
  at::set_num_threads(before);
  EXPECT_EQ(parts, (std::multiset<int64_t>{0, 1, 2, 3}));
  EXPECT_GT(threads.size(), 1U);
}

TEST(Parallel, PartsHaveEquallyManyEdges) {
  const std::vector<int64_t> offsets = {0, 0, 100, 100, 110, 120, 130, 200};  // 7 rows
  EXPECT_EQ(first_row_of_part(offsets.data(), 7, 0, 2), 0);
  EXPECT_EQ(first_row_of_part(offsets.data(), 7, 1, 2), 3) << "103 edges and rows come before it";
  EXPECT_EQ(first_row_of_part(offsets.data(), 7, 2, 2), 7);
}

torch::Tensor dense_of(const torch::Tensor& offsets, const torch::Tensor& neighbours, const torch::Tensor& weights,
                       int64_t width) {
  const int64_t rows = offsets.size(0) - 1;
  torch::Tensor dense = at::zeros({rows, width}, torch::kFloat64);
  for (int64_t v = 0; v < rows; ++v) {
    for (int64_t e = offsets[v].item<int64_t>(); e < offsets[v + 1].item<int64_t>(); ++e) {
      dense[v][neighbours[e].item<int64_t>()] += weights.defined() ? weights[e].item<double>() : 1.0;
    }
  }
  return dense;
}

TEST(Adjacency, SharesTheBlocksMemory) {
  auto block = toy_block({.weighted = true, .own = true});
  const auto* neighbours = block->neighbours.data();
  const auto* weights = block->weights.data();
  const torch::Tensor dense = dense_matrix(*block);
  const auto adjacency = Adjacency::of(block, torch::kCPU, torch::kFloat32);
  const std::weak_ptr<MessageBlock> gone = block;
  block.reset();
  EXPECT_TRUE(gone.expired()) << "its arrays are held, not the block";
  EXPECT_EQ(adjacency->neighbours.const_data_ptr<int32_t>(), neighbours);
  EXPECT_EQ(adjacency->weights.const_data_ptr<float>(), weights);
  EXPECT_EQ(max_abs_difference(dense_of(adjacency->offsets, adjacency->neighbours, adjacency->weights, 9), dense), 0);
  EXPECT_TRUE(at::equal(adjacency->own, integers({8, 7, 6, 5, 4, 3, 2})));
  EXPECT_EQ(adjacency->targets(), 7);
  EXPECT_EQ(adjacency->sources(), 9);
}

TEST(Adjacency, Transposes) {
  for (const ToyBlock& toy :
       {ToyBlock{}, ToyBlock{.weighted = true}, ToyBlock{.targets = 8, .sources = 8, .weighted = true, .symmetric = true},
        ToyBlock{.targets = 400, .sources = 300, .density = 0.6, .weighted = true}, ToyBlock{.density = 0}}) {
    const auto block = toy_block(toy);
    const auto adjacency = Adjacency::of(block, torch::kCPU, torch::kFloat64);
    const Adjacency::Transposed counted = transpose_by_counting(*adjacency), sorted = transpose_by_sorting(*adjacency);
    EXPECT_TRUE(at::equal(counted.offsets, sorted.offsets));
    EXPECT_TRUE(at::equal(counted.neighbours, sorted.neighbours));
    EXPECT_TRUE(at::equal(counted.edge_of, sorted.edge_of));
    if (toy.weighted) {
      EXPECT_TRUE(at::equal(counted.weights, adjacency->weights.index_select(0, counted.edge_of)));
    }
    const torch::Tensor dense = dense_matrix(*block);
    EXPECT_LT(max_abs_difference(at::mm(adjacency->matrix(true, torch::kFloat64), at::eye(toy.targets, torch::kFloat64)),
                                 dense.t()),
              1e-15);
    EXPECT_LT(max_abs_difference(at::mm(adjacency->matrix(false, torch::kFloat64), at::eye(toy.sources, torch::kFloat64)), dense),
              1e-15);
    if (toy.targets > 100) continue;  // one by one takes long
    const Adjacency::Transposed& kept = adjacency->transposed();
    EXPECT_EQ(max_abs_difference(dense_of(kept.offsets, kept.neighbours, kept.weights, toy.targets), dense.t()), 0);
  }
}

TEST(Adjacency, ASymmetricOneIsItsOwnTranspose) {
  const auto adjacency = toy_adjacency({.targets = 8, .sources = 8, .weighted = true, .symmetric = true});
  const Adjacency::Transposed& first = adjacency->transposed();
  EXPECT_TRUE(first.neighbours.is_same(adjacency->neighbours));
  EXPECT_FALSE(first.edge_of.defined());
  const Adjacency::Transposed& places = adjacency->transposed(true);
  EXPECT_EQ(places.neighbours.const_data_ptr<int32_t>(), adjacency->neighbours.const_data_ptr<int32_t>()) << "no second copy";
  EXPECT_TRUE(at::equal(places.edge_of, transpose_by_counting(*adjacency).edge_of));
  EXPECT_EQ(&adjacency->transposed(), &places) << "made once";
}

Graph toy_graph(bool sparse) {
  Graph graph;
  graph.nodes = 4;
  graph.attributes = 3;
  graph.offsets = std::vector<int64_t>{0, 1, 3, 5, 6};
  graph.neighbours = std::vector<int32_t>{1, 0, 2, 1, 3, 2};
  graph.symmetric = true;
  graph.labels = std::vector<int32_t>{1, 0, -1, 1};
  graph.classes = {"a", "b"};
  if (sparse) {
    graph.sparse.offsets = std::vector<int64_t>{0, 2, 2, 3, 4};
    graph.sparse.columns = std::vector<int32_t>{0, 2, 1, 2};
    graph.sparse.values = std::vector<float>{1, 2, 3, 4};
  } else {
    graph.dense = std::vector<float>{1, 0, 2, 0, 0, 0, 0, 3, 0, 0, 0, 4};
  }
  return graph;
}

torch::Tensor attributes_of(const AttributeRows& rows) {
  if (rows.dense.defined()) return rows.dense;
  return dense_of(rows.sparse->offsets, rows.sparse->neighbours, rows.sparse->weights, rows.sparse->sources());
}

std::shared_ptr<MessageBlock> whole(const Graph& graph) {
  auto block = std::make_shared<MessageBlock>();
  block->targets = block->sources = graph.nodes;
  block->offsets = graph.offsets;
  block->neighbours = graph.neighbours;
  block->symmetric = true;
  return block;
}

TEST(GraphTensors, WholeGraphIsMadeOnce) {
  const Graph graph = toy_graph(false);
  const GraphTensors tensors(graph, torch::kCPU, torch::kFloat32);
  MessagePlan plan;
  auto block = whole(graph);
  plan.blocks = {block, block};
  plan.examples = {0, 3};
  plan.loss_weights = {0.5, 2};
  const auto batch = tensors.batch(plan), again = tensors.batch(plan);
  EXPECT_EQ(batch->blocks[0], batch->blocks[1]);
  EXPECT_EQ(batch->blocks[0], again->blocks[0]) << "with its transpose";
  EXPECT_EQ(batch->attributes.dense.const_data_ptr<float>(), graph.dense.data()) << "shared, not copied";
  EXPECT_TRUE(at::equal(batch->input_ids, integers({0, 1, 2, 3})));
  EXPECT_TRUE(at::equal(batch->output_ids[1], integers({0, 1, 2, 3})));
  EXPECT_TRUE(at::equal(batch->examples, integers({0, 3})));
  EXPECT_TRUE(at::equal(batch->example_ids, integers({0, 3})));
  EXPECT_TRUE(at::equal(batch->targets, integers({1, 1})));
  EXPECT_TRUE(at::equal(batch->weights, at::tensor({0.5F, 2.0F})));
  // The cached block is dropped once it has no other owner: the blocks of all steps must not accumulate.
  const std::weak_ptr<const Adjacency> old = batch->blocks[0];
  batch->blocks.clear();
  again->blocks.clear();
  EXPECT_FALSE(old.expired());
  plan.blocks = {whole(graph)};
  block.reset();
  tensors.batch(plan);
  EXPECT_TRUE(old.expired());
}

TEST(GraphTensors, SampledBlocksHaveTheIdsOfTheirNodes) {
  for (const bool sparse : {false, true}) {
    const Graph graph = toy_graph(sparse);
    const GraphTensors tensors(graph, torch::kCPU, torch::kFloat64);
    MessagePlan plan;
    plan.inputs = {3, 1, 2};
    auto first = std::make_shared<MessageBlock>(), second = std::make_shared<MessageBlock>();
    first->targets = 2;
    first->sources = 3;
    first->offsets = std::vector<int64_t>{0, 1, 2};
    first->neighbours = std::vector<int32_t>{0, 1};
    first->own = std::vector<int32_t>{2, 1};
    second->targets = 1;
    second->sources = 2;
    second->offsets = std::vector<int64_t>{0, 1};
    second->neighbours = std::vector<int32_t>{1};
    plan.blocks = {first, second};
    plan.outputs = {2};
    const auto batch = tensors.batch(plan);
    EXPECT_TRUE(at::equal(batch->input_ids, integers({3, 1, 2})));
    EXPECT_TRUE(at::equal(batch->output_ids[0], integers({2, 1})));
    EXPECT_TRUE(at::equal(batch->output_ids[1], integers({2}))) << "without an own map targets are the first sources";
    EXPECT_FALSE(batch->examples.defined());
    EXPECT_TRUE(at::equal(batch->example_ids, integers({2})));
    EXPECT_TRUE(at::equal(batch->targets, integers({-1}))) << "unknown";
    EXPECT_FALSE(batch->weights.defined());
    EXPECT_EQ(batch->attributes.rows(), 3);
    EXPECT_EQ(batch->attributes.width(), 3);
    const torch::Tensor expected = at::tensor({0.0, 0.0, 4.0, 0.0, 0.0, 0.0, 0.0, 3.0, 0.0}, torch::kFloat64).view({3, 3});
    EXPECT_TRUE(at::equal(attributes_of(batch->attributes), expected)) << sparse;
    plan.inputs = {3, 1};
    EXPECT_ANY_THROW(tensors.batch(plan)) << "fewer rows than the first block reads";
  }
}

TEST(Adjacency, ScalesOfDegreesCountTheNodeItselfOrAtLeastOne) {
  const auto adjacency = Adjacency::of(toy_block({}), torch::kCPU, torch::kFloat64);
  adjacency->target_degree = at::tensor({0.0, 3.0, 8.0}, torch::kFloat64);
  const torch::Tensor with = at::tensor({1.0, 4.0, 9.0}, torch::kFloat64), without = at::tensor({1.0, 3.0, 8.0}, torch::kFloat64);
  EXPECT_FALSE(adjacency->degree_scales(true).source_root.defined()) << "its sources have no degrees";
  EXPECT_TRUE(at::allclose(adjacency->degree_scales(true).target_inverse, 1 / with));
  EXPECT_TRUE(at::allclose(adjacency->degree_scales(true).target_root, 1 / with.sqrt()));
  EXPECT_TRUE(at::allclose(adjacency->degree_scales(false).target_inverse, 1 / without));
}

TEST(Adjacency, APlanIsMadeForTheMatrixAndForItsTranspose) {
  const auto block = toy_block({.targets = 3, .sources = 300, .density = 0.9});
  const auto adjacency = Adjacency::of(block, torch::kCPU, torch::kFloat32);
  EXPECT_EQ(adjacency->row_plan(false), nullptr) << "nobody asked for one";
  adjacency->plan_sums();
  const RowPlanTensors* plan = adjacency->row_plan(false);
  ASSERT_NE(plan, nullptr);
  EXPECT_EQ(plan, adjacency->row_plan(false)) << "made once";
  EXPECT_EQ(plan->rows.size(0), 3);
  EXPECT_EQ(plan->cut_rows, 2) << "the first row has no edges";
  EXPECT_EQ(plan->row_of_segment.size(0), plan->segments);
  EXPECT_EQ(adjacency->row_plan(true)->rows.size(0), 300);
  EXPECT_EQ(adjacency->row_plan(true)->cut_rows, 0);
  const auto symmetric = Adjacency::of(toy_block({.targets = 8, .sources = 8, .symmetric = true}), torch::kCPU, torch::kFloat32);
  symmetric->plan_sums();
  EXPECT_EQ(symmetric->row_plan(true), symmetric->row_plan(false));
}

}  // namespace
}  // namespace l0gm
