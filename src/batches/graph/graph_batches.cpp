#include "batches/graph/graph_batches.h"

#include <ATen/Functions.h>

#include <algorithm>
#include <utility>

#include "batches/graph/thinned_edges.h"
#include "batches/to_device.h"

namespace l0gm {

namespace {

template <class T>
torch::Tensor copied(const std::vector<T>& values, torch::Device device, torch::Dtype dtype) {
  if (values.empty()) return at::empty({0}, at::TensorOptions(device).dtype(dtype));
  const auto stored = c10::CppTypeToScalarType<T>::value;
  const auto size = static_cast<int64_t>(values.size());
  const torch::Tensor seen = at::from_blob(const_cast<T*>(values.data()), {size}, at::TensorOptions().dtype(stored));
  return device.is_cpu() ? seen.to(device, dtype, false, /*copy=*/true) : to_device(seen, device, dtype);
}

SparseRows rows_at(const SparseRows& all, const std::vector<int64_t>& nodes) {
  std::vector<int64_t> offsets = {0};
  offsets.reserve(nodes.size() + 1);
  for (const int64_t node : nodes) offsets.push_back(offsets.back() + all.offsets[node + 1] - all.offsets[node]);
  std::vector<int32_t> columns(static_cast<size_t>(offsets.back()));
  std::vector<float> values(columns.size());
  for (size_t i = 0; i < nodes.size(); ++i) {
    const int64_t begin = all.offsets[nodes[i]], count = offsets[i + 1] - offsets[i];
    std::copy_n(all.columns.data() + begin, count, columns.begin() + offsets[i]);
    std::copy_n(all.values.data() + begin, count, values.begin() + offsets[i]);
  }
  return {std::move(offsets), std::move(columns), std::move(values)};
}

// Attributes are made dense where at least this share of their cells is not zero, as a dense product is then faster; small tables
// stay sparse (both are fast), and so do tables that would need too much memory.
constexpr double dense_from_share = 0.08;
constexpr int64_t dense_from_cells = 1 << 20, most_dense_cells = int64_t{1} << 30;

bool dense_is_faster(const Graph& graph) {
  const int64_t cells = graph.nodes * graph.attributes;
  return cells >= dense_from_cells && cells <= most_dense_cells &&
         static_cast<double>(graph.sparse.columns.size()) >= dense_from_share * static_cast<double>(cells);
}

torch::Tensor to_dense(const Graph& graph) {
  torch::Tensor all = at::zeros({graph.nodes, graph.attributes}, torch::kFloat32);
  float* cells = all.data_ptr<float>();
  for (int64_t node = 0; node < graph.nodes; ++node) {
    for (int64_t i = graph.sparse.offsets[node]; i < graph.sparse.offsets[node + 1]; ++i)
      cells[node * graph.attributes + graph.sparse.columns[i]] = graph.sparse.values[i];
  }
  return all;
}

// The ids of a block's targets, given those of its sources.
torch::Tensor ids_of_targets(const torch::Tensor& source_ids, const Adjacency& block) {
  if (block.own.defined()) return source_ids.index_select(0, block.own);
  return block.targets() == source_ids.size(0) ? source_ids : source_ids.narrow(0, 0, block.targets());
}

}  // namespace

GraphTensors::GraphTensors(const Graph& graph, torch::Device device, torch::Dtype dtype)
    : graph_(graph), device_(device), dtype_(dtype) {
  if (graph.is_sparse() && dense_is_faster(graph)) {
    attributes_.dense = to_dense(graph).to(device, dtype);
  } else if (graph.is_sparse()) {
    attributes_.sparse = Adjacency::of(graph.sparse, nullptr, graph.attributes, device, dtype);
    attributes_.sparse->plan_sums();
  } else if (graph.dense.empty()) {
    attributes_.dense = at::empty({graph.nodes, graph.attributes}, at::TensorOptions(device).dtype(dtype));
  } else {
    const auto keep = [owner = graph.dense.owner()](void*) {};
    attributes_.dense = at::from_blob(const_cast<float*>(graph.dense.data()), {graph.nodes, graph.attributes}, keep,
                                      at::TensorOptions().dtype(torch::kFloat32))
                            .to(device, dtype);
  }
  const std::vector<int32_t> labels(graph.labels.begin(), graph.labels.end());
  labels_ = labels.empty() ? at::full({graph.nodes}, -1, at::TensorOptions(device).dtype(torch::kInt64))
                           : copied(labels, device, torch::kInt64);
  all_nodes_ = at::arange(graph.nodes, at::TensorOptions(device).dtype(torch::kInt64));
}

AttributeRows GraphTensors::attributes_at(const std::vector<int64_t>& nodes) const {
  if (nodes.empty()) return attributes_;
  if (attributes_.dense.defined() || !device_.is_cpu()) return attributes_at(copied(nodes, device_, torch::kInt64));
  return {{}, Adjacency::of(rows_at(graph_.sparse, nodes), nullptr, graph_.attributes, device_, dtype_)};
}

AttributeRows GraphTensors::attributes_at(const torch::Tensor& nodes) const {
  if (!nodes.defined()) return attributes_;
  if (attributes_.dense.defined()) return {attributes_.dense.index_select(0, nodes), nullptr};
  const Adjacency& all = *attributes_.sparse;
  const GatheredRows rows = gather_rows(all, nodes);
  return {{},
          std::make_shared<Adjacency>(graph_.attributes, rows.offsets, all.neighbours.index_select(0, rows.places),
                                      all.weights.index_select(0, rows.places), false)};
}

std::shared_ptr<const Adjacency> GraphTensors::adjacency_of(const std::shared_ptr<const MessageBlock>& block) const {
  if (block->targets != graph_.nodes || block->sources != graph_.nodes) return Adjacency::of(block, device_, dtype_);
  for (const auto& [of, adjacency] : whole_blocks_) {
    if (of.lock() == block) return adjacency;
  }
  whole_blocks_.emplace_back(block, Adjacency::of(block, device_, dtype_));
  whole_blocks_.back().second->plan_sums();
  return whole_blocks_.back().second;
}

std::shared_ptr<GraphBatch> GraphTensors::batch(const MessagePlan& plan) const {
  std::erase_if(whole_blocks_, [](const auto& known) { return known.first.expired(); });
  const auto list_of = [&](const auto& numbers, torch::Dtype dtype) {
    return numbers.empty() ? torch::Tensor() : copied(numbers, device_, dtype);
  };
  TensorPlan made;
  for (size_t layer = 0; layer < plan.blocks.size(); ++layer) {
    const bool as_before = layer > 0 && plan.blocks[layer] == plan.blocks[layer - 1];
    made.blocks.push_back(as_before ? made.blocks.back() : adjacency_of(plan.blocks[layer]));
  }
  made.inputs = list_of(plan.inputs, torch::kInt64);
  made.examples = list_of(plan.examples, torch::kInt64);
  made.loss_weights = list_of(plan.loss_weights, dtype_);
  std::shared_ptr<GraphBatch> result = batch(made, attributes_at(plan.inputs));
  if (!plan.outputs.empty()) {  // a plan without layers (an MLP) has the same inputs and outputs
    const torch::Tensor& last = result->output_ids.empty() ? result->input_ids : result->output_ids.back();
    TORCH_CHECK(std::ssize(plan.outputs) == last.size(0), "a plan's outputs are the last block's targets");
  }
  return result;
}

std::shared_ptr<GraphBatch> GraphTensors::batch(const TensorPlan& plan) const { return batch(plan, attributes_at(plan.inputs)); }

std::shared_ptr<GraphBatch> GraphTensors::batch(const TensorPlan& plan, AttributeRows attributes) const {
  auto batch = std::make_shared<GraphBatch>();
  batch->attributes = std::move(attributes);
  batch->blocks = plan.blocks;
  batch->input_ids = plan.inputs.defined() ? plan.inputs : all_nodes_;
  torch::Tensor ids = batch->input_ids;
  for (size_t layer = 0; layer < plan.blocks.size(); ++layer) {
    const Adjacency& block = *plan.blocks[layer];
    TORCH_CHECK(block.sources() == ids.size(0), "layer ", layer, " reads ", block.sources(), " rows of the ", ids.size(0),
                " before it");
    ids = ids_of_targets(ids, block);
    batch->output_ids.push_back(ids);
  }
  if (plan.examples.defined()) {
    batch->examples = plan.examples;
    ids = ids.index_select(0, batch->examples);
  }
  batch->example_ids = ids;
  batch->targets = labels_.index_select(0, ids);
  batch->weights = plan.loss_weights;
  return batch;
}

}  // namespace l0gm
