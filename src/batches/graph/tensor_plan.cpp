#include "batches/graph/tensor_plan.h"

#include <ATen/Functions.h>

#include "batches/graph/suppress_torch_warnings.h"
#include "batches/graph/thinned_edges.h"

namespace l0gm {

namespace {

bool needs_all(int64_t some, int64_t nodes) { return some * 10 > nodes * 9; }

// Each number below `limit` that a list has, in the order of their first occurrences.
torch::Tensor in_order_of_first(const torch::Tensor& list, int64_t limit) {
  const SuppressTorchWarnings suppress;
  const int64_t size = list.size(0);
  torch::Tensor first = at::full({limit}, size, list.options());
  first.scatter_reduce_(0, list, at::arange(size, list.options()), "amin");
  const torch::Tensor places = first.masked_select(first.lt(size));
  return list.index_select(0, std::get<0>(at::sort(places)));
}

// All rows of the nodes that are known so far, by number; their neighbours become known as well, and are the block's sources,
// unless nearly all nodes are: then all nodes are.
std::shared_ptr<const Adjacency> complete_rows(const Adjacency& whole, torch::Tensor& known) {
  const torch::Tensor targets = known;
  const GatheredRows rows = gather_rows(whole, targets);
  const torch::Tensor neighbours = whole.neighbours.index_select(0, rows.places);
  const torch::Tensor nodes = neighbours.to(torch::kInt64);
  known = in_order_of_first(at::cat({targets, nodes}), whole.sources());
  const int64_t count = known.size(0);
  if (needs_all(count, whole.sources())) {
    auto block = std::make_shared<Adjacency>(whole.sources(), rows.offsets, neighbours, torch::Tensor(), false);
    block->own = targets;
    block->target_degree = whole.target_degree.index_select(0, targets);
    block->source_degree = whole.source_degree;
    return block;
  }
  torch::Tensor numbers = at::zeros({whole.sources()}, known.options());
  numbers.index_copy_(0, known, at::arange(count, known.options()));
  auto block =
      std::make_shared<Adjacency>(count, rows.offsets, numbers.index_select(0, nodes).to(torch::kInt32), torch::Tensor(), false);
  block->source_degree = whole.source_degree.index_select(0, known);
  block->target_degree = block->source_degree.narrow(0, 0, targets.size(0));
  return block;
}

}  // namespace

TensorPlan complete_tensor_plan(const std::shared_ptr<const Adjacency>& whole, const torch::Tensor& nodes, int64_t layers) {
  TensorPlan plan;
  const int64_t count = whole->sources();
  bool all = needs_all(nodes.size(0), count);
  if (all && (nodes.size(0) < count || !at::equal(nodes, at::arange(count, nodes.options())))) plan.examples = nodes;
  torch::Tensor known = nodes;  // in the order of their numbers
  plan.blocks.resize(static_cast<size_t>(layers));
  for (auto block = plan.blocks.rbegin(); block != plan.blocks.rend(); ++block) {
    *block = all ? whole : complete_rows(*whole, known);
    all = all || needs_all(known.size(0), count);
  }
  if (!all) plan.inputs = known;
  return plan;
}

}  // namespace l0gm
